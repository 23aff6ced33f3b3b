#include "reference/linear.hpp"

#include <fmt/format.h>

#include "core/dtype.hpp"
#include "core/error.hpp"
#include "io/safetensors.hpp"
#include "reference/temporary_model.hpp"
#include "support/catch.hpp"

using namespace wafer;
using namespace wafer::reference;
using checkpoint::Checkpoint;
using checkpoint::Weight;
using checkpoint::WeightId;

namespace {

constexpr WeightId lm_head = {Weight::lm_head, 0};
constexpr WeightId embedding = {Weight::embedding, 0};

/// Element (row, col) of the matrices below: fractions that all three types hold exactly.
float element(Index row, Index col) { return static_cast<float>((row * 7 + col * 3) % 101 - 50) / 8; }

void append_element(std::vector<std::byte>& bytes, float value, const std::string& dtype) {
  const auto push = [&bytes](const auto& stored) {
    const auto raw = std::as_bytes(std::span(&stored, 1));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  };
  if (dtype == "F32") push(value);
  if (dtype == "F16") push(f16_of(value));
  if (dtype == "BF16") push(bf16_of(value));
}

/// A model of one layer with hidden size 3 and this vocabulary, every tensor filled by element().
void write_model(const test::TemporaryModel& model, Index vocab, const std::string& dtype) {
  model.write_config(fmt::format(
      R"({{"model_type": "llama", "hidden_size": 3, "num_hidden_layers": 1, "num_attention_heads": 1,
           "num_key_value_heads": 1, "head_dim": 2, "intermediate_size": 5, "vocab_size": {},
           "max_position_embeddings": 8, "rms_norm_eps": 1e-6, "hidden_act": "silu",
           "tie_word_embeddings": false, "rope_theta": 10000.0}})",
      vocab));
  const checkpoint::ModelConfig config = [&] {
    checkpoint::ModelConfig sizes;
    sizes.hidden = 3;
    sizes.layers = sizes.heads = sizes.kv_heads = 1;
    sizes.head_dim = 2;
    sizes.ffn = 5;
    sizes.vocab = vocab;
    return sizes;
  }();
  std::vector<io::TensorSpec> specs;
  std::vector<std::byte> bytes;
  for (const WeightId id : weights_of(config)) {
    const Shape shape = shape_of(config, id);
    const bool is_vector = shape.rows == 1 && id.weight != Weight::embedding && id.weight != Weight::lm_head;
    specs.push_back(
        {name_of(id), dtype,
         is_vector ? std::vector<Index>{shape.cols} : std::vector<Index>{shape.rows, shape.cols}});
    for (Index row = 0; row < shape.rows; ++row)
      for (Index col = 0; col < shape.cols; ++col) append_element(bytes, element(row, col), dtype);
  }
  io::SafetensorsWriter writer(model.path() / "model.safetensors", specs);
  writer.write(bytes);
  writer.finish();
}

}  // namespace

TEST_CASE("rows are widened exactly from every stored type") {
  const std::string dtype = GENERATE(as<std::string>{}, "F32", "F16", "BF16");
  const test::TemporaryModel model("types");
  write_model(model, 7, dtype);
  const Checkpoint checkpoint(model.path());

  const std::vector<double> rows = read_rows(checkpoint, embedding, 2, 5);

  REQUIRE(rows.size() == 15);
  for (Index i = 0; i < 15; ++i) CHECK(rows[at(i)] == static_cast<double>(element(2 + i / 3, i % 3)));
  CHECK(read_rows(checkpoint, embedding, 7, 0).empty());
}

TEST_CASE("a matrix larger than what is held at a time multiplies every row") {
  const Index vocab = 1400003;  // in double twice the 16 MiB of a piece, and a rest
  const test::TemporaryModel model("large");
  write_model(model, vocab, "F16");
  const Checkpoint checkpoint(model.path());
  const std::vector<double> x = {1, 0, 0, 0.5, -2, 4};

  const std::vector<double> y = linear(checkpoint, lm_head, x);

  REQUIRE(y.size() == at(2 * vocab));
  Index wrong = 0;
  for (Index row = 0; row < vocab; ++row) {
    const double mixed = 0.5 * static_cast<double>(element(row, 0)) -
                         2 * static_cast<double>(element(row, 1)) + 4 * static_cast<double>(element(row, 2));
    if (y[at(row)] != static_cast<double>(element(row, 0)) || y[at(vocab + row)] != mixed) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a matrix of one row, and no tokens at all") {
  const test::TemporaryModel model("small");
  write_model(model, 1, "F32");
  const Checkpoint checkpoint(model.path());

  CHECK(linear(checkpoint, lm_head, std::vector<double>{8, 0, 0}) == std::vector<double>{-50});
  CHECK(linear(checkpoint, lm_head, {}).empty());
  CHECK_THROWS_AS(linear(checkpoint, lm_head, std::vector<double>(4)), InternalError);
}

TEST_CASE("a bias is added to each row") {
  const test::TemporaryModel model("bias");
  write_model(model, 1, "BF16");
  const Checkpoint checkpoint(model.path());
  std::vector<double> rows = {1, 2, 3, 4, 5, 6};

  add_bias(checkpoint, {Weight::final_norm, 0}, rows);  // any vector of the model: -6.25, -5.875, -5.5

  CHECK(rows == std::vector<double>{-5.25, -3.875, -2.5, -2.25, -0.875, 0.5});
}
