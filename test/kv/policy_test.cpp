#include "kv/policy.hpp"

#include <algorithm>
#include <numeric>

#include "core/error.hpp"
#include "support/catch.hpp"

using namespace wafer;
using kv::Policy;

TEST_CASE("with shift the counts are those of an even cut, for every number of tokens and rows", "[kv]") {
  for (Index rows = 1; rows <= 12; ++rows) {
    std::vector<Index> counts(at(rows), 0);
    for (Index tokens = 0; tokens <= 12 * 3; ++tokens) {
      CAPTURE(rows, tokens);
      const auto offsets = part_offsets(tokens, rows);
      for (Index y = 0; y < rows; ++y) CHECK(counts[at(y)] == offsets[at(y) + 1] - offsets[at(y)]);
      kv::add_token(Policy::shift, counts);
    }
  }
}

TEST_CASE("a prompt and then appends gives the same counts as appends alone, with shift", "[kv]") {
  for (Index rows = 1; rows <= 12; ++rows)
    for (Index prompt = 0; prompt <= 12; ++prompt) {
      auto counts = kv::initial_counts(prompt, rows);
      for (Index token = 0; token < 15; ++token) kv::add_token(Policy::shift, counts);
      CHECK(counts == kv::initial_counts(prompt + 15, rows));
    }
}

TEST_CASE("with shift no row holds more than one token above another, and rows above are the fuller ones",
          "[kv]") {
  for (Index rows = 1; rows <= 12; ++rows) {
    auto counts = kv::initial_counts(5, rows);
    for (Index token = 0; token < 40; ++token) {
      kv::add_token(Policy::shift, counts);
      CHECK(counts.front() - counts.back() <= 1);
      CHECK(std::is_sorted(counts.rbegin(), counts.rend()));
      CHECK(std::accumulate(counts.begin(), counts.end(), Index{0}) == 6 + token);
    }
  }
}

TEST_CASE("with concat the bottom row takes every new token and the prompt stays", "[kv]") {
  for (Index rows = 1; rows <= 12; ++rows)
    for (const Index prompt : {Index{0}, Index{3}, Index{12}, Index{25}}) {
      auto expected = kv::initial_counts(prompt, rows);
      auto counts = expected;
      for (Index token = 0; token < 7; ++token) kv::add_token(Policy::concat, counts);
      expected.back() += 7;
      CHECK(counts == expected);
    }
}

TEST_CASE("policies have names, and no others are taken", "[kv]") {
  for (const Policy policy : {Policy::shift, Policy::concat, Policy::round_robin})
    CHECK(kv::parse_policy(kv::to_string(policy)) == policy);
  CHECK(kv::to_string(Policy::shift) == "shift");
  CHECK_THROWS_AS(kv::parse_policy("Shift"), UsageError);
  CHECK_THROWS_WITH(kv::parse_policy(""), "--kv; got \"\"; expected shift, concat or round-robin");
}
