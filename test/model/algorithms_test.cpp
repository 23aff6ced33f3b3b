// A model gives the golden logits with any GEMM and any all-reduce, and the ledger knows the difference.
#include "checkpoint/golden.hpp"
#include "fabric/all_reduce_algorithm.hpp"
#include "fabric/tilings.hpp"
#include "kernels/gemm.hpp"
#include "model/transformer.hpp"
#include "support/test_device.hpp"

using namespace wafer;
using checkpoint::Checkpoint, checkpoint::Golden;
using model::Options, model::Transformer;
using test::world;

namespace {

const std::string library = kernels::use_library();
const std::string golden_dir = WAFER_GOLDEN_DIR;

// Largest distance of the logits at rank 0 to the golden ones, over the largest of those; and what was sent.
struct Found {
  double distance = 0.0;
  std::int64_t word_hops = 0;
};

Found run(Options options, const Checkpoint& checkpoint, const Golden& golden) {
  plmr::Execution execution(test::odd_device(), options.prefill_mesh, {2, false});
  options.prefill_execution = options.decode_execution = &execution;
  Transformer transformer(world(), checkpoint, options, true);
  const std::size_t prompt = golden.input_ids.size() / 2;
  transformer.prefill(std::span(golden.input_ids).first(prompt));
  auto logits = transformer.all_logits();
  transformer.transition();
  for (const Index id : std::span(golden.input_ids).subspan(prompt)) {
    transformer.decode(id);
    const auto last = transformer.logits();
    logits.insert(logits.end(), last.begin(), last.end());
  }
  double error = 0.0;
  double largest = 0.0;
  for (std::size_t k = 0; k < logits.size(); ++k) {
    const double difference = std::abs(static_cast<double>(logits[k]) - golden.logits[k]);
    error = difference <= error ? error : difference;  // NaN counts
    largest = std::max(largest, std::abs(golden.logits[k]));
  }
  return {world().max(world().is_root() ? error / largest : 0.0),
          execution.ledger().total([](const auto&) { return true; }).word_hops};
}

}  // namespace

TEST_CASE("a model gives the golden logits with any GEMM and any all-reduce", "[model]") {
  const Checkpoint checkpoint(golden_dir + "/qwen3");
  const Golden golden = checkpoint::read_golden(checkpoint.path() / "golden.h5", checkpoint.config());
  for (const mesh::Mesh mesh : {mesh::Mesh{3, 2}, mesh::Mesh{5, 5}}) {
    Options options;
    options.prefill_mesh = options.decode_mesh = mesh;
    const Found usual = run(options, checkpoint, golden);
    for (const auto& algorithm : ops::gemm_algorithms()) {
      CAPTURE(std::string(algorithm.name));
      Options other = options;
      other.gemm = algorithm.name;
      const Found found = run(other, checkpoint, golden);
      CHECK(found.distance <= 2e-6);
      const bool alike = algorithm.name == "mesh" || algorithm.name == "mesh-lcm";
      if (mesh.height == 5 && !alike) CHECK(found.word_hops != usual.word_hops);
    }
    for (const auto& algorithm : fabric::all_reduce_algorithms()) {
      CAPTURE(std::string(algorithm.name));
      Options other = options;
      other.tree.algorithm = &algorithm;
      CHECK(run(other, checkpoint, golden).distance <= 2e-6);
    }
  }
}
