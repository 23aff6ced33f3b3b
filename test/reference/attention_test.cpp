#include "reference/attention.hpp"

#include "core/error.hpp"
#include "support/catch.hpp"

using Catch::Matchers::WithinAbs;
using wafer::at;
using wafer::Index;
using wafer::checkpoint::ModelConfig;
using wafer::reference::attention;

namespace {

ModelConfig model(Index heads, Index kv_heads, Index head_dim) {
  ModelConfig config;
  config.heads = heads;
  config.kv_heads = kv_heads;
  config.head_dim = head_dim;
  return config;
}

/// 0, 1, 2 ...: so that a mean of values is known.
std::vector<double> counting(Index count) {
  std::vector<double> values;
  for (Index i = 0; i < count; ++i) values.push_back(static_cast<double>(i));
  return values;
}

}  // namespace

TEST_CASE("equal keys give the mean of the values up to the query") {
  const std::vector<double> ones(5, 1.0);
  const auto out = attention(model(1, 1, 1), 0, ones, ones, counting(5));
  for (Index i = 0; i < 5; ++i) CHECK_THAT(out[at(i)], WithinAbs(static_cast<double>(i) / 2, 1e-14));
}

TEST_CASE("a window shows that many keys, the query's own included") {
  const std::vector<double> ones(5, 1.0);
  const Index window = GENERATE(1, 2, 3, 5, 9);
  const auto out = attention(model(1, 1, 1), window, ones, ones, counting(5));
  for (Index i = 0; i < 5; ++i) {
    const Index first = std::max<Index>(0, i - window + 1);
    CHECK_THAT(out[at(i)], WithinAbs(static_cast<double>(first + i) / 2, 1e-14));
  }
}

TEST_CASE("queries are the last tokens of the sequence") {
  const std::vector<double> ones(7, 1.0);
  const auto out = attention(model(1, 1, 1), 3, std::span(ones).first(2), ones, counting(7));
  REQUIRE(out.size() == 2);
  CHECK_THAT(out[0], WithinAbs(4.0, 1e-14));
  CHECK_THAT(out[1], WithinAbs(5.0, 1e-14));
}

TEST_CASE("neighbouring query heads share a KV head") {
  const std::vector<double> q(6, 1.0);
  const std::vector<double> keys(2, 1.0);
  const std::vector<double> values = {10, 20};
  const auto out = attention(model(6, 2, 1), 0, q, keys, values);
  CHECK(out == std::vector<double>{10, 10, 10, 20, 20, 20});
}

TEST_CASE("a large query picks the value of the one key that it matches") {
  const Index picked = GENERATE(0, 1, 2);
  std::vector<double> q(9, 0.0);  // three tokens, of which the last looks for `picked`
  q[at(6 + picked)] = 1e4;
  const std::vector<double> keys = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  const auto out = attention(model(1, 1, 3), 0, q, keys, counting(9));
  for (Index i = 0; i < 3; ++i) CHECK(out[at(6 + i)] == static_cast<double>(3 * picked + i));
}

TEST_CASE("scores are divided by the root of the head's dimension") {
  // Head dimension 4: scores 0 and 2 ln 3 / 2, so weights 1/4 and 3/4.
  const double log3 = 1.0986122886681098;
  const std::vector<double> q = {2 * log3, 0, 0, 0, 2 * log3, 0, 0, 0};
  const std::vector<double> keys = {0, 0, 0, 0, 1, 0, 0, 0};
  const std::vector<double> values = {0, 0, 0, 0, 1, 1, 1, 1};
  const auto out = attention(model(1, 1, 4), 0, q, keys, values);
  for (Index i = 4; i < 8; ++i) CHECK_THAT(out[at(i)], WithinAbs(0.75, 1e-14));
}

TEST_CASE("more queries than keys are refused, and none are fine") {
  const std::vector<double> three(3, 1.0);
  const std::vector<double> two(2, 1.0);
  CHECK_THROWS_AS(attention(model(1, 1, 1), 0, three, two, two), wafer::InternalError);
  CHECK(attention(model(1, 1, 1), 0, {}, two, two).empty());
}
