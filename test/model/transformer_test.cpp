#include "model/transformer.hpp"

#include <cmath>

#include "checkpoint/golden.hpp"
#include "core/error.hpp"
#include "fabric/tilings.hpp"
#include "kernels/gemm.hpp"

using namespace wafer;
using checkpoint::Checkpoint, checkpoint::Golden;
using fabric::Communicator;
using mesh::Mesh;
using model::Options, model::Transformer;
using test::world;

namespace {

const std::string library = kernels::use_library();  // one BLAS thread, or bits differ
const std::string golden_dir = WAFER_GOLDEN_DIR;

Golden golden_of(const Checkpoint& checkpoint) {
  return checkpoint::read_golden(checkpoint.path() / "golden.h5", checkpoint.config());
}

// What a whole run gives: logits of the prompt and of every decoded token, one after the other; and the
// tokens that are likeliest on the mesh.
struct Run {
  std::vector<float> logits;  // at rank 0
  std::vector<Index> greedy;
};

Run run(Transformer& transformer, std::span<const Index> prompt, std::span<const Index> continuation) {
  Run result;
  const auto look = [&] {
    const auto last = transformer.logits();
    result.logits.insert(result.logits.end(), last.begin(), last.end());
    result.greedy.push_back(transformer.greedy());
  };
  transformer.prefill(prompt);
  result.logits = transformer.all_logits();
  look();
  transformer.transition();
  for (const Index id : continuation) {
    transformer.decode(id);
    look();
  }
  return result;
}

// Every grid of the ranks, with one thread and with three.
std::vector<Options> all_options(Options options) {
  std::vector<Options> all;
  for (int rows = 1; rows <= world().size(); ++rows)
    for (const int threads : {1, 3}) {
      if (world().size() % rows != 0) continue;
      options.ranks_grid = Mesh{rows, world().size() / rows};
      options.threads = threads;
      all.push_back(options);
    }
  return all;
}

std::vector<Options> make_meshes() {
  std::vector<Options> all(3);
  all[0].prefill_mesh = {3, 2};
  all[0].decode_mesh = {2, 3};
  all[1].prefill_mesh = {2, 2};
  all[1].decode_mesh = {5, 4};
  all[1].kv = kv::Policy::concat;
  all[1].tree.levels = 3;
  all[2].prefill_mesh = {3, 3};
  all[2].decode_mesh = {3, 3};
  all[2].kv = kv::Policy::round_robin;
  return all;
}
const std::vector<Options> meshes = make_meshes();

// Largest distance of the rows of logits at rank 0 to those of the golden file, over its largest logit.
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

TEST_CASE("logits and greedy tokens have the same bits on every number and grid of ranks and threads",
          "[model]") {
  const Checkpoint checkpoint(golden_dir + "/qwen3");
  const Golden golden = golden_of(checkpoint);
  const auto prompt = std::span(golden.input_ids).first(7);
  const auto continuation = std::span(golden.input_ids).subspan(7, 5);
  for (const Options& on : meshes) {
    const Communicator self = world().split(world().rank().value, 0);
    Transformer one_rank(self, checkpoint, on, true);
    const Run expected = run(one_rank, prompt, continuation);
    REQUIRE(expected.logits.size() == (7 + 1 + 5) * at(checkpoint.config().vocab));
    for (const Options& options : all_options(on)) {
      CAPTURE(mesh::to_string(*options.ranks_grid), options.threads);
      Transformer transformer(world(), checkpoint, options, true);
      const Run got = run(transformer, prompt, continuation);
      REQUIRE(test::differing(got.logits, expected.logits) == 0);
      CHECK(got.greedy == expected.greedy);
    }
  }
}

TEST_CASE("prefill and decode agree with the golden logits, token by token", "[model]") {
  const Checkpoint checkpoint(golden_dir + "/qwen3");
  const Golden golden = golden_of(checkpoint);
  const auto vocabulary = at(checkpoint.config().vocab);
  for (const Options& on : meshes) {
    Transformer transformer(world(), checkpoint, on, true);
    transformer.prefill(golden.input_ids);
    CHECK(distance(transformer.all_logits(), golden) <= 2e-6);

    transformer.reset();
    transformer.prefill(std::span(golden.input_ids).first(1));
    auto logits = transformer.logits();
    transformer.transition();
    for (const Index id : std::span(golden.input_ids).subspan(1)) {
      transformer.decode(id);
      const auto last = transformer.logits();
      logits.insert(logits.end(), last.begin(), last.end());
    }
    CHECK(distance(logits, golden) <= 2e-6);
    CHECK((logits.size() == golden.input_ids.size() * vocabulary || !world().is_root()));
  }
}

TEST_CASE("a sequence after going back to prefill, or after a reset, is like the first", "[model]") {
  const Checkpoint checkpoint(golden_dir + "/qwen3");
  const Golden golden = golden_of(checkpoint);
  const auto prompt = std::span(golden.input_ids).first(4);
  const auto continuation = std::span(golden.input_ids).subspan(4, 2);
  Transformer transformer(world(), checkpoint, meshes.front(), true);
  const Run first = run(transformer, prompt, continuation);
  const auto bytes = transformer.weight_bytes();

  transformer.back_to_prefill();
  CHECK(transformer.tokens() == 0);
  const Run second = run(transformer, prompt, continuation);
  REQUIRE(test::differing(second.logits, first.logits) == 0);
  CHECK(transformer.weight_bytes() == bytes);

  transformer.reset();
  std::vector<float> token_by_token;
  for (const Index id : prompt) {
    transformer.decode(id);
    token_by_token = transformer.logits();
  }
  CHECK(transformer.tokens() == 4);
  const auto vocabulary = at(checkpoint.config().vocab);
  double error = 0.0;  // decode's own bits, close to prefill's
  for (std::size_t k = 0; k < token_by_token.size(); ++k)
    error = std::max(error, std::abs(static_cast<double>(token_by_token[k]) -
                                     static_cast<double>(first.logits[4 * vocabulary + k])));
  CHECK(error <= 1e-5);
}

TEST_CASE("hidden states are shown after the embedding, every layer and the final norm", "[model]") {
  const Checkpoint checkpoint(golden_dir + "/qwen3");
  const Golden golden = golden_of(checkpoint);
  Transformer transformer(world(), checkpoint, meshes.front(), true);
  std::vector<Index> seen;
  double error = 0.0;
  transformer.prefill(golden.input_ids, [&](Index layer, const std::vector<float>& hidden) {
    seen.push_back(layer);
    const double* expected =
        golden.hidden.data() + at(layer) * golden.input_ids.size() * at(checkpoint.config().hidden);
    for (std::size_t k = 0; k < hidden.size(); ++k)
      error = std::max(error, std::abs(hidden[k] - expected[k]) / (1.0 + std::abs(expected[k])));
    CHECK(hidden.empty() != world().is_root());
  });
  CHECK(seen == std::vector<Index>{0, 1, 2});
  CHECK(error <= 1e-5);
}

TEST_CASE("what does not fit is refused on every rank, before anything is computed", "[model]") {
  const Checkpoint checkpoint(golden_dir + "/qwen3");
  Transformer transformer(world(), checkpoint, meshes.front(), true);
  const std::vector<Index> too_long(at(checkpoint.config().context) + 1, 1);
  const std::vector<Index> unknown = {1, checkpoint.config().vocab};
  const std::vector<Index> negative = {-1};
  CHECK_THROWS_AS(transformer.prefill({}), FitError);
  CHECK_THROWS_WITH(transformer.prefill(too_long), test::contains("got 257 tokens; expected at most 256"));
  CHECK_THROWS_AS(transformer.prefill(too_long), FitError);
  CHECK_THROWS_WITH(transformer.prefill(unknown), test::contains("token id 320"));
  CHECK_THROWS_AS(transformer.prefill(negative), FitError);
  CHECK_THROWS_AS(transformer.decode(1), InternalError);
  CHECK(transformer.tokens() == 0);
}
