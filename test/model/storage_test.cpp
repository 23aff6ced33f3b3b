#include <cmath>

#include "checkpoint/golden.hpp"
#include "fabric/tilings.hpp"
#include "kernels/gemm.hpp"
#include "kernels/rounding.hpp"
#include "model/loader.hpp"
#include "model/transformer.hpp"

using namespace wafer;
using checkpoint::Checkpoint, checkpoint::Golden, checkpoint::Weight, checkpoint::WeightId;
using fabric::Communicator, fabric::Fabric, fabric::Placement;
using mesh::CoreCoord, mesh::Mesh;
using model::Options, model::Transformer;
using test::world;

namespace {

const std::string library = kernels::use_library();  // one BLAS thread, or bits differ
const std::string golden_dir = WAFER_GOLDEN_DIR;

constexpr Index prompt_length = 7;
constexpr Index decoded = 5;

struct Case {
  std::string model;
  double half, brain;  // bounds for the two types: about twice what is measured
};
const std::vector<Case> cases = {{"qwen3", 3.5e-3, 2e-2}, {"llama-odd", 7e-3, 7e-2}};

Options options_of(DType storage, Mesh prefill, Mesh decode) {
  Options options;
  options.prefill_mesh = prefill;
  options.decode_mesh = decode;
  options.storage = storage;
  return options;
}

struct Run {
  std::vector<float> logits;      // of every position, at rank 0
  Index other_values = 0;         // on the residual stream and in the cache, that the type does not have
  std::int64_t weight_bytes = 0;  // of this rank
};

Index not_of(DType type, std::span<const float> values) {
  std::vector<float> stored(values.begin(), values.end());
  kernels::round_to(type, stored);
  Index count = 0;
  for (std::size_t k = 0; k < stored.size(); ++k) count += stored[k] == values[k] ? 0 : 1;
  return count;
}

// A prompt and some tokens; `type` is what values are held against.
Run run(const Communicator& communicator, const Checkpoint& checkpoint, const Golden& golden,
        const Options& options, DType type) {
  Transformer transformer(communicator, checkpoint, options, true);
  Run result;
  const auto observe = [&](Index, const std::vector<float>& hidden) {
    result.other_values += not_of(type, hidden);
  };
  transformer.prefill(std::span(golden.input_ids).first(prompt_length), observe);
  result.logits = transformer.all_logits();
  transformer.transition();
  for (const Index id : std::span(golden.input_ids).subspan(prompt_length, decoded)) {
    transformer.decode(id, observe);
    const auto last = transformer.logits();
    result.logits.insert(result.logits.end(), last.begin(), last.end());
  }
  const mesh::Tile& tile = transformer.decode_fabric().tile();
  for (Index layer = 0; layer < checkpoint.config().layers; ++layer) {
    const ops::CacheView cache = transformer.cache().view(layer);
    for (Index y = tile.rows.begin; y < tile.rows.end; ++y)
      for (Index x = tile.columns.begin; x < tile.columns.end; ++x)
        for (const auto& entries : {cache.keys({y, x}), cache.values({y, x})})
          result.other_values += not_of(type, {entries.data(), at(entries.shape().size())});
  }
  result.weight_bytes = transformer.weight_bytes();
  return result;
}

// Largest distance to the golden logits, over the largest of them; the same on every rank.
double distance(const std::vector<float>& logits, const Golden& golden) {
  double error = 0.0;
  double largest = 0.0;
  for (std::size_t k = 0; k < logits.size(); ++k) {
    const double difference = std::abs(static_cast<double>(logits[k]) - golden.logits[k]);
    error = difference <= error ? error : difference;  // NaN counts
    largest = std::max(largest, std::abs(golden.logits[k]));
  }
  if (std::isnan(error)) error = INFINITY;
  return world().max(world().is_root() ? error / largest : 0.0);
}

}  // namespace

TEST_CASE(
    "in 16 bits logits stay close, and what is stored has the type's values, with the same bits on any "
    "ranks",
    "[model]") {
  const Communicator self = world().split(world().rank().value, 0);
  for (const Case& c : cases) {
    const Checkpoint checkpoint(golden_dir + "/" + c.model);
    const Golden golden = checkpoint::read_golden(checkpoint.path() / "golden.h5", checkpoint.config());
    for (const auto& [prefill, decode] :
         {std::pair(Mesh{3, 2}, Mesh{2, 3}), std::pair(Mesh{2, 2}, Mesh{5, 4})})
      for (const DType type : {DType::f16, DType::bf16}) {
        CAPTURE(c.model, name_of(type), mesh::to_string(prefill));
        Options options = options_of(type, prefill, decode);
        const Run expected = run(self, checkpoint, golden, options, type);
        options.threads = 3;
        const Run got = run(world(), checkpoint, golden, options, type);
        REQUIRE(expected.logits.size() == at((prompt_length + decoded) * checkpoint.config().vocab));
        CHECK(test::differing(got.logits, expected.logits) == 0);
        CHECK(got.other_values == 0);

        const double error = distance(got.logits, golden);
        CHECK(error <= (type == DType::f16 ? c.half : c.brain));
        CHECK(error >= 1e-4);  // float32: 2e-6
      }
  }
}

TEST_CASE("in float32 the same values are not those of a 16-bit type, and the weights are twice as large",
          "[model]") {
  const Checkpoint checkpoint(golden_dir + "/qwen3");
  const Golden golden = checkpoint::read_golden(checkpoint.path() / "golden.h5", checkpoint.config());
  const Communicator self = world().split(world().rank().value, 0);
  const Run wide = run(self, checkpoint, golden, options_of(DType::f32, {3, 2}, {2, 3}), DType::bf16);
  const Run half = run(self, checkpoint, golden, options_of(DType::f16, {3, 2}, {2, 3}), DType::f16);
  CHECK(distance(wide.logits, golden) <= 2e-6);
  CHECK(wide.other_values > 1000);
  CHECK(half.weight_bytes < wide.weight_bytes * 51 / 100);
}

TEST_CASE("weights are held in the storage's type: float32 rounded, bfloat16 through float32, or untouched",
          "[model]") {
  const Fabric fabric(world(), mesh::Tiling({2, 3}, world().size()));
  struct From {
    std::string path;
    DType stored;
  };
  for (const From& from : {From{golden_dir + "/llama-odd", DType::f32},
                           From{std::string(WAFER_DATA_DIR) + "/folio", DType::bf16}}) {
    const Checkpoint checkpoint(from.path);
    REQUIRE(checkpoint.dtype({Weight::gate, 0}) == from.stored);
    const auto placement = Placement::plain(Partition::even(checkpoint.config().hidden, 2),
                                            Partition::even(2 * checkpoint.config().ffn, 3));
    const std::vector<WeightId> tensors = {{Weight::gate, 0}, {Weight::up, 0}};
    const auto source = model::load_matrix(checkpoint, tensors, fabric, placement, DType::f32);
    CHECK(source.type() == from.stored);
    for (const DType type : {DType::f16, DType::bf16}) {
      const auto kept = model::load_matrix(checkpoint, tensors, fabric, placement, type);
      CHECK(kept.type() == type);
      Index wrong = 0;
      fabric.for_cores([&](CoreCoord core) {
        const TypedView got = kept.typed(core.y, core.x);
        for (Index i = 0; i < got.rows(); ++i)
          for (Index j = 0; j < got.cols(); ++j) {
            float expected = source.typed(core.y, core.x).at(i, j);
            kernels::round_to(type, std::span(&expected, 1));
            wrong += got.at(i, j) == expected ? 0 : 1;
          }
      });
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("vectors are rounded once, too", "[model]") {
  const Checkpoint checkpoint(golden_dir + "/llama-odd");
  const auto wide = model::load_vectors(checkpoint, 1, DType::f32);
  const auto half = model::load_vectors(checkpoint, 1, DType::f16);
  for (const auto part : {&model::LayerVectors::attention_norm, &model::LayerVectors::qkv_bias}) {
    CHECK(not_of(DType::f16, wide.*part) > 0);
    auto expected = wide.*part;
    kernels::round_to(DType::f16, expected);
    CHECK(half.*part == expected);
  }
}
