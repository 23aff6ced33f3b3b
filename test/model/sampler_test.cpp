#include "model/sampler.hpp"

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "support/catch.hpp"

using namespace wafer;
using model::sample, model::Sampling;

namespace {

// How often each token is drawn in `draws` steps.
std::vector<double> frequencies(const std::vector<float>& logits, const Sampling& sampling, int draws) {
  std::vector<double> counts(logits.size(), 0.0);
  for (int step = 0; step < draws; ++step)
    counts[at(sample(logits, sampling, static_cast<std::uint64_t>(step)))] += 1.0 / draws;
  return counts;
}

// softmax(logits / temperature) of the tokens given, 0 elsewhere.
std::vector<double> probabilities(const std::vector<float>& logits, double temperature,
                                  const std::set<Index>& tokens) {
  std::vector<double> p(logits.size(), 0.0);
  double sum = 0.0;
  for (const Index id : tokens) sum += p[at(id)] = std::exp(logits[at(id)] / temperature);
  for (double& value : p) value /= sum;
  return p;
}

// Frequencies within five standard deviations; tokens that cannot be drawn never are.
void check_draws(const std::vector<float>& logits, const Sampling& sampling, const std::set<Index>& tokens) {
  constexpr int draws = 20000;
  const auto drawn = frequencies(logits, sampling, draws);
  const auto expected = probabilities(logits, sampling.temperature, tokens);
  for (std::size_t id = 0; id < logits.size(); ++id) {
    CAPTURE(id);
    const double deviation = std::sqrt(expected[id] * (1.0 - expected[id]) / draws);
    CHECK(std::abs(drawn[id] - expected[id]) <= 5.0 * deviation + 1e-12);
  }
}

const std::vector<float> logits = {0.5F, 2.0F, -1.0F, 1.5F, 2.0F, -30.0F, 0.0F};

}  // namespace

TEST_CASE("temperature 0 takes the likeliest token, of equals the lowest id", "[model]") {
  for (std::uint64_t step = 0; step < 50; ++step) CHECK(sample(logits, {.seed = step}, step) == 1);
  CHECK(sample(std::vector<float>{3.0F}, {}, 0) == 0);
  CHECK(sample(std::vector<float>(5, -2.0F), {}, 0) == 0);
  CHECK(sample(std::vector<float>{1.0F, 1.5F}, {.top_k = 2, .top_p = 0.1}, 0) == 1);
}

TEST_CASE("tokens are drawn as often as softmax says, at every temperature", "[model]") {
  for (const double temperature : {0.5, 1.0, 3.0})
    check_draws(logits, {.temperature = temperature, .seed = 4}, {0, 1, 2, 3, 4, 5, 6});
}

TEST_CASE("top-k keeps the k likeliest tokens; of equals, the lower ids", "[model]") {
  check_draws(logits, {.temperature = 1.0, .top_k = 1, .seed = 4}, {1});
  check_draws(logits, {.temperature = 1.0, .top_k = 2, .seed = 4}, {1, 4});
  check_draws(logits, {.temperature = 1.0, .top_k = 4, .seed = 4}, {0, 1, 3, 4});
  check_draws(logits, {.temperature = 1.0, .top_k = 100, .seed = 4}, {0, 1, 2, 3, 4, 5, 6});
  check_draws(std::vector<float>(100, 1.0F), {.temperature = 1.0, .top_k = 3, .seed = 4}, {0, 1, 2});
}

TEST_CASE("top-p keeps the fewest tokens whose probability reaches p, one at least", "[model]") {
  // four tokens of a quarter each: the sums are exact
  const std::vector<float> equal(4, 0.0F);
  check_draws(equal, {.temperature = 1.0, .top_p = 0.0, .seed = 4}, {0});
  check_draws(equal, {.temperature = 1.0, .top_p = 0.25, .seed = 4}, {0});
  check_draws(equal, {.temperature = 1.0, .top_p = 0.26, .seed = 4}, {0, 1});
  check_draws(equal, {.temperature = 1.0, .top_p = 0.75, .seed = 4}, {0, 1, 2});
  check_draws(equal, {.temperature = 1.0, .top_p = 1.0, .seed = 4}, {0, 1, 2, 3});
  check_draws(logits, {.temperature = 1.0, .top_p = 0.5, .seed = 4}, {1, 4});
}

TEST_CASE("top-p counts within what top-k left", "[model]") {
  const std::vector<float> equal(4, 0.0F);
  check_draws(equal, {.temperature = 1.0, .top_k = 2, .top_p = 0.5, .seed = 4}, {0});
  check_draws(equal, {.temperature = 1.0, .top_k = 2, .top_p = 0.6, .seed = 4}, {0, 1});
}

TEST_CASE("a draw depends on seed and step alone, and on both", "[model]") {
  const std::vector<float> equal(1000, 0.0F);
  std::set<Index> by_seed, by_step;
  for (std::uint64_t k = 0; k < 20; ++k) {
    by_seed.insert(sample(equal, {.temperature = 1.0, .seed = k}, 3));
    by_step.insert(sample(equal, {.temperature = 1.0, .seed = 3}, k));
    CHECK(sample(equal, {.temperature = 1.0, .seed = k}, 3) ==
          sample(equal, {.temperature = 1.0, .seed = k}, 3));
  }
  CHECK(by_seed.size() > 15);
  CHECK(by_step.size() > 15);
}

TEST_CASE("logits of any size are drawn from without overflow", "[model]") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (std::uint64_t step = 0; step < 200; ++step)
    CHECK(sample(std::vector<float>{-1e30F, 1e30F, 0.0F}, {.temperature = 1.0, .seed = 4}, step) == 1);
  const std::vector<float> masked = {-infinity, 1.0F, -infinity, 1.0F};
  for (std::uint64_t step = 0; step < 200; ++step)
    CHECK(sample(masked, {.temperature = 1.0, .seed = 4}, step) % 2 == 1);
}
