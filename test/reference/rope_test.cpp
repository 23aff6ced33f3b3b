#include "reference/rope.hpp"

#include <cmath>

#include "reference/arithmetic.hpp"
#include "support/catch.hpp"

using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using wafer::at;
using wafer::Index;
using wafer::checkpoint::ModelConfig;
using wafer::checkpoint::RopeConfig;
using wafer::checkpoint::RopeType;
using namespace wafer::reference;

namespace {

constexpr double printed = 1e-9;  // the expected values below have ten digits

ModelConfig model(Index head_dim, const RopeConfig& rope) {
  ModelConfig config;
  config.head_dim = head_dim;
  config.context = 4096;
  config.rope = rope;
  return config;
}

ModelConfig llama3(Index head_dim, double factor) {
  RopeConfig rope;
  rope.type = RopeType::llama3;
  rope.theta = 5e5;
  rope.factor = factor;
  rope.original_context = 8192;
  return model(head_dim, rope);
}

RopeConfig yarn() {
  RopeConfig rope;
  rope.type = RopeType::yarn;
  rope.theta = 1e6;
  rope.factor = 4;
  rope.original_context = 32768;
  return rope;
}

ModelConfig dynamic() {
  RopeConfig rope;
  rope.type = RopeType::dynamic;
  rope.factor = 2;
  return model(128, rope);
}

/// frequency / theta^(-2j/d): what the rope type does to a pair.
double ratio(const ModelConfig& config, Index pair) {
  const double d = static_cast<double>(config.head_dim);
  return rope_frequencies(config, 1)[at(pair)] /
         std::pow(config.rope.theta, -2 * static_cast<double>(pair) / d);
}

}  // namespace

TEST_CASE("standard frequencies fall from one by a constant ratio") {
  const auto frequencies = rope_frequencies(model(6, {}), 1);

  REQUIRE(frequencies.size() == 3);
  CHECK(frequencies[0] == 1);
  CHECK_THAT(frequencies[1], WithinRel(std::pow(1e4, -1.0 / 3), 1e-14));
  CHECK_THAT(frequencies[2], WithinRel(std::pow(1e4, -2.0 / 3), 1e-14));
}

TEST_CASE("linear RoPE divides every frequency by the factor") {
  RopeConfig rope;
  rope.type = RopeType::linear;
  rope.factor = 4;
  const ModelConfig config = model(10, rope);
  for (Index pair = 0; pair < 5; ++pair) CHECK_THAT(ratio(config, pair), WithinRel(0.25, 1e-14));
}

TEST_CASE("llama3 RoPE keeps short wavelengths, divides long ones and blends between") {
  const ModelConfig small = llama3(64, 32);
  const auto frequencies = rope_frequencies(small, 1);
  CHECK_THAT(frequencies[15], WithinRel(1.290547928e-03, printed));
  CHECK_THAT(frequencies[17], WithinRel(9.708287803e-05, printed));
  CHECK_THAT(frequencies[18], WithinRel(1.946163818e-05, printed));
  CHECK_THAT(frequencies[31], WithinRel(9.418306725e-08, printed));
  for (Index pair = 0; pair < 15; ++pair) CHECK_THAT(ratio(small, pair), WithinRel(1.0, 1e-14));
  for (Index pair = 18; pair < 32; ++pair) CHECK_THAT(ratio(small, pair), WithinRel(1.0 / 32, 1e-14));
}

TEST_CASE("llama3 RoPE has the known values of a head of 128 and factor 8") {
  const ModelConfig large = llama3(128, 8);
  const auto frequencies = rope_frequencies(large, 1);
  CHECK_THAT(frequencies[29], WithinRel(2.166570764e-03, printed));
  CHECK_THAT(frequencies[34], WithinRel(1.785078128e-04, printed));
  CHECK_THAT(frequencies[35], WithinRel(9.556212354e-05, printed));
  CHECK_THAT(frequencies[63], WithinRel(3.068925989e-07, printed));
  CHECK_THAT(ratio(large, 28), WithinRel(1.0, 1e-14));
  CHECK(ratio(large, 29) < 0.999);
  CHECK(ratio(large, 34) > 0.126);
}

TEST_CASE("yarn keeps the pairs that turn often, divides those that turn rarely and ramps between") {
  const ModelConfig config = model(128, yarn());
  const auto frequencies = rope_frequencies(config, 1);
  CHECK_THAT(frequencies[23], WithinRel(6.978305849e-03, printed));
  CHECK_THAT(frequencies[24], WithinRel(5.375321491e-03, printed));
  CHECK_THAT(frequencies[40], WithinRel(4.445698525e-05, printed));
  CHECK_THAT(ratio(config, 23), WithinRel(1.0, 1e-14));
  CHECK_THAT(ratio(config, 24), WithinRel(1 - 0.75 / 17, 1e-12));  // the ramp is 17 pairs long
  CHECK_THAT(ratio(config, 40), WithinRel(0.25, 1e-14));
  CHECK_THAT(ratio(config, 63), WithinRel(0.25, 1e-14));
}

TEST_CASE("yarn's range of pairs is fractional where it is not truncated") {
  RopeConfig rope = yarn();
  rope.truncate = false;
  const double turns = 32768 / (2 * std::acos(-1.0));
  const double low = 128 * std::log(turns / 32) / (2 * std::log(1e6));
  const double high = 128 * std::log(turns / 1) / (2 * std::log(1e6));
  CHECK_THAT(ratio(model(128, rope), 30), WithinRel(1 - 0.75 * (30 - low) / (high - low), 1e-12));
}

TEST_CASE("yarn steps where its range is empty") {
  RopeConfig rope = yarn();
  rope.original_context = 8;  // no pair turns even once: low and high are both 0
  rope.beta_fast = 2;
  CHECK(ratio(model(4, rope), 0) == 1);
  CHECK_THAT(ratio(model(4, rope), 1), WithinRel(0.25, 1e-14));
}

TEST_CASE("yarn's attention factor is the one given, else made of the mscales, else of the factor") {
  RopeConfig rope = yarn();
  CHECK_THAT(rope_attention_factor(rope), WithinRel(1.138629436, printed));

  rope.mscale = 0.5;
  CHECK_THAT(rope_attention_factor(rope), WithinRel(1.138629436, printed));  // one alone does not count

  rope.mscale_all_dim = 2;
  CHECK_THAT(rope_attention_factor(rope),
             WithinRel((1 + 0.05 * std::log(4)) / (1 + 0.2 * std::log(4)), 1e-14));

  rope.attention_factor = 0.75;
  CHECK(rope_attention_factor(rope) == 0.75);
}

TEST_CASE("the attention factor is one without stretching, and for every type but yarn") {
  RopeConfig rope = yarn();
  rope.factor = 1;
  CHECK(rope_attention_factor(rope) == 1);
  CHECK(rope_attention_factor(dynamic().rope) == 1);
  CHECK(rope_attention_factor(llama3(64, 8).rope) == 1);
}

TEST_CASE("dynamic RoPE raises its base with the length, but only beyond the context") {
  const ModelConfig config = dynamic();
  CHECK_THAT(1 / std::pow(rope_frequencies(config, 8192)[1], 64), WithinRel(30527.736749, printed));
  CHECK_THAT(rope_frequencies(config, 8192)[63], WithinRel(std::pow(30527.736749, -126.0 / 128), printed));
  CHECK(rope_frequencies(config, 4097) != rope_frequencies(config, 4096));
  CHECK(rope_frequencies(config, 1) == rope_frequencies(config, 4096));
  CHECK_THAT(rope_frequencies(config, 4096)[1], WithinRel(std::pow(1e4, -1.0 / 64), 1e-14));
}

TEST_CASE("a rotation turns the pairs (j, j + d/2) by position times frequency") {
  const ModelConfig config = model(4, {});
  std::vector<double> rows = {1, 2, 3, 4, 5, 6, 7, 8};  // one token, two heads
  const double second = 3 * 0.01;                       // the second pair's angle at position 3

  rotate(rows, make_rotation(config, 3, 1), 4);

  CHECK_THAT(rows[0], WithinRel(1 * std::cos(3.0) - 3 * std::sin(3.0), 1e-14));
  CHECK_THAT(rows[2], WithinRel(3 * std::cos(3.0) + 1 * std::sin(3.0), 1e-14));
  CHECK_THAT(rows[1], WithinRel(2 * std::cos(second) - 4 * std::sin(second), 1e-14));
  CHECK_THAT(rows[3], WithinRel(4 * std::cos(second) + 2 * std::sin(second), 1e-14));
  CHECK_THAT(rows[5], WithinRel(6 * std::cos(second) - 8 * std::sin(second), 1e-14));
}

TEST_CASE("rotated vectors have a product that depends on the distance of their positions alone") {
  const ModelConfig config = model(10, {});
  const std::vector<double> q = {1, -2, 3, -4, 5, 6, -7, 8, -9, 10};
  const std::vector<double> k = {0.5, 1, -1, 2, 0.25, -3, 1, 1, 2, -1};
  const auto product = [&](Index q_position, Index k_position) {
    std::vector<double> a = q;
    std::vector<double> b = k;
    rotate(a, make_rotation(config, q_position, 1), 10);
    rotate(b, make_rotation(config, k_position, 1), 10);
    return dot(a, b);
  };
  CHECK_THAT(product(907, 900), WithinAbs(product(7, 0), 1e-10));
  CHECK(std::abs(product(8, 0) - product(7, 0)) > 1e-3);
}

TEST_CASE("a rotation from a position on is the end of the one from the start") {
  const ModelConfig config = model(2, {});
  const Rotation whole = make_rotation(config, 0, 5);
  const Rotation end = make_rotation(config, 3, 2);
  CHECK(end.cosines == std::vector<double>{whole.cosines[3], whole.cosines[4]});
  CHECK(end.sines == std::vector<double>{whole.sines[3], whole.sines[4]});
}

TEST_CASE("yarn's attention factor multiplies cosines and sines") {
  RopeConfig rope = yarn();
  rope.attention_factor = 2;
  std::vector<double> rows = {1, 0, 0, 0};

  rotate(rows, make_rotation(model(4, rope), 0, 1), 4);

  CHECK(rows == std::vector<double>{2, 0, 0, 0});
}

TEST_CASE("rotating no tokens does nothing") {
  std::vector<double> rows;
  rotate(rows, make_rotation(model(4, {}), 7, 0), 4);
  CHECK(rows.empty());
}
