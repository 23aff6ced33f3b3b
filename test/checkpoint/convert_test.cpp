#include "checkpoint/convert.hpp"

#include <cmath>
#include <numeric>

#include "checkpoint/read_whole.hpp"
#include "io/file.hpp"
#include "io/helpers.hpp"
#include "io/json.hpp"
#include "io/limited_files.hpp"

namespace wafer::checkpoint {
namespace {

namespace fs = std::filesystem;
using io::Json;
using test::contains;
using test::input_error_of;
using test::TemporaryFolder;

void check_same_weights(const Checkpoint& a, const Checkpoint& b) {
  CHECK(a.bytes() == b.bytes());
  for (const WeightId id : weights_of(a.config())) {
    INFO(name_of(id));
    CHECK(a.dtype(id) == b.dtype(id));
    CHECK(read_whole(a, id) == read_whole(b, id));
  }
}

/// Larger than one slab in its embedding, odd in its sizes.
Json small_config() {
  return {{"model_type", "qwen3"},  {"hidden_size", 63},
          {"num_hidden_layers", 2}, {"num_attention_heads", 3},
          {"head_dim", 10},         {"intermediate_size", 101},
          {"vocab_size", 40'009},   {"max_position_embeddings", 50},
          {"attention_bias", true}};
}

RandomModel random_model(const Json& config, std::uint64_t seed = 1) {
  return {io::to_text(config), "config", seed};
}

TEST_CASE("a converted model holds the same bytes and texts") {
  const TemporaryFolder folder;
  for (const char* name : {"llama-odd", "mistral-swa", "qwen3"}) {
    const Checkpoint source(fs::path(WAFER_GOLDEN_DIR) / name);
    convert_to_hdf5(source, folder / "model.h5");
    const Checkpoint converted(folder / "model.h5");
    CHECK(converted.config_json() == source.config_json());
    CHECK(converted.generation_json() == source.generation_json());
    CHECK(converted.tokenizer_json() == source.tokenizer_json());
    check_same_weights(source, converted);
  }
  CHECK(folder.files() == 1);
}

TEST_CASE("a 16-bit model and its tokenizer survive conversion, and conversion of the converted") {
  const TemporaryFolder folder;
  const Checkpoint source(fs::path(WAFER_DATA_DIR) / "folio");
  convert_to_hdf5(source, folder / "a.h5");
  convert_to_hdf5(Checkpoint(folder / "a.h5"), folder / "b.h5");
  const Checkpoint converted(folder / "b.h5");
  CHECK(converted.dtype({Weight::q, 0}) == DType::bf16);
  CHECK(converted.tokenizer_json() == source.tokenizer_json());
  CHECK(converted.config().eos_ids == source.config().eos_ids);
  check_same_weights(source, converted);
}

TEST_CASE("progress counts up to the bytes of the model") {
  const TemporaryFolder folder;
  const Checkpoint source(fs::path(WAFER_GOLDEN_DIR) / "qwen2");
  std::int64_t last = 0;
  convert_to_hdf5(source, folder / "model.h5", [&](std::int64_t done, std::int64_t total) {
    CHECK(done > last);
    CHECK(total == source.bytes());
    last = done;
  });
  CHECK(last == source.bytes());
}

TEST_CASE("every truncation of a converted model is refused") {
  const TemporaryFolder folder;
  convert_to_hdf5(Checkpoint(fs::path(WAFER_GOLDEN_DIR) / "qwen2"), folder / "model.h5");
  const std::string whole = io::read_text(folder / "model.h5");
  for (std::size_t tenth = 0; tenth < 10; ++tenth) {
    io::write_text(folder / "model.h5", whole.substr(0, whole.size() * tenth / 10));
    CHECK_THAT(input_error_of([&] { Checkpoint model(folder / "model.h5"); }), contains("model.h5"));
  }
  io::write_text(folder / "model.h5", whole.substr(0, whole.size() - 1));
  CHECK_THAT(input_error_of([&] { Checkpoint model(folder / "model.h5"); }), contains("model.h5"));
}

TEST_CASE("an HDF5 file without a model is refused by name") {
  const fs::path path = fs::path(WAFER_GOLDEN_DIR) / "qwen2" / "golden.h5";
  CHECK_THAT(input_error_of([&] { Checkpoint model(path); }), contains("golden.h5 holds no model"));
}

TEST_CASE("a conversion that fails leaves nothing behind") {
  const TemporaryFolder folder;
  const Checkpoint source(fs::path(WAFER_GOLDEN_DIR) / "qwen2");
  const test::LimitedFiles limit(100'000);
  CHECK_THAT(input_error_of([&] { convert_to_hdf5(source, folder / "model.h5"); }),
             contains("model.h5") && contains("File too large"));
  CHECK(folder.files() == 0);
}

TEST_CASE("a random model is complete in both forms, with the same weights") {
  const TemporaryFolder folder;
  make_random_model(random_model(small_config()), folder / "model.h5");
  make_random_model(random_model(small_config()), folder / "new/directory");
  const Checkpoint file(folder / "model.h5");
  const Checkpoint directory(folder / "new/directory");
  CHECK(directory.dtype({Weight::embedding, 0}) == DType::bf16);
  CHECK(directory.config_json() == io::to_text(small_config()));
  check_same_weights(file, directory);
}

TEST_CASE("a weight depends on seed, name and place alone") {
  const TemporaryFolder folder;
  Json deeper = small_config();
  deeper["num_hidden_layers"] = 3;
  make_random_model(random_model(small_config(), 1), folder / "a.h5");
  make_random_model(random_model(deeper, 1), folder / "deeper.h5");
  make_random_model(random_model(small_config(), 2), folder / "b.h5");
  const Checkpoint a(folder / "a.h5");
  const WeightId q = {Weight::q, 1};
  CHECK(read_whole(a, q) == read_whole(Checkpoint(folder / "deeper.h5"), q));
  CHECK(read_whole(a, q) != read_whole(Checkpoint(folder / "b.h5"), q));
  CHECK(read_whole(a, q) != read_whole(a, {Weight::q, 0}));
}

TEST_CASE("random weights are normal, norms are near 1") {
  const TemporaryFolder folder;
  Json config = small_config();
  config["torch_dtype"] = "float32";
  config["initializer_range"] = 0.5;
  make_random_model(random_model(config), folder / "model.h5");
  const Checkpoint model(folder / "model.h5");
  const std::vector<std::byte> bytes = read_whole(model, {Weight::embedding, 0});
  std::vector<float> values(bytes.size() / sizeof(float));
  std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(std::span(values)).begin());
  const auto n = static_cast<double>(values.size());
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  double neighbours = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i] / 0.5;
    sum += value;
    squares += value * value;
    fourth += value * value * value * value;
    if (i > 0) neighbours += value * values[i - 1] / 0.5;
  }
  // n is 2.5 million: five standard errors of each of the moments.
  CHECK(std::abs(sum / n) < 5 / std::sqrt(n));
  CHECK(std::abs(squares / n - 1) < 5 * std::sqrt(2 / n));
  CHECK(std::abs(fourth / n - 3) < 5 * std::sqrt(96 / n));
  CHECK(std::abs(neighbours / n) < 5 / std::sqrt(n));
  for (const float norm : model.read_vector({Weight::q_norm, 0})) CHECK(std::abs(norm - 1) < 3.0F);
  const std::vector<float> norm = model.read_vector({Weight::final_norm, 0});
  CHECK(std::abs(std::accumulate(norm.begin(), norm.end(), 0.0F) / 63 - 1) < 0.4F);
}

TEST_CASE("a random model has the type that its configuration names") {
  const TemporaryFolder folder;
  Json config = small_config();
  for (const auto& [name, dtype] : std::vector<std::pair<const char*, DType>>{
           {"float32", DType::f32}, {"float16", DType::f16}, {"bfloat16", DType::bf16}}) {
    config["dtype"] = name;
    make_random_model(random_model(config), folder / "model.h5");
    CHECK(Checkpoint(folder / "model.h5").dtype({Weight::down, 1}) == dtype);
  }
  config["dtype"] = "int8";
  CHECK_THAT(input_error_of([&] { make_random_model(random_model(config), folder / "x.h5"); }),
             contains("config: dtype; got \"int8\""));
}

TEST_CASE("a random model never replaces the weights of a directory") {
  const TemporaryFolder folder;
  io::write_text(folder / "model-00001-of-00002.safetensors", "precious");
  CHECK_THAT(input_error_of([&] { make_random_model(random_model(small_config()), folder.path()); }),
             contains("already has weights; got model-00001-of-00002.safetensors"));
  CHECK(folder.files() == 1);
  io::write_text(folder / "file", "");
  CHECK_THAT(input_error_of([&] { make_random_model(random_model(small_config()), folder / "file"); }),
             contains("cannot make the directory"));
}

}  // namespace
}  // namespace wafer::checkpoint
