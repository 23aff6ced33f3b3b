#include "model/rope_frequencies.hpp"

#include <cmath>

#include "support/catch.hpp"

using namespace wafer;
using checkpoint::ModelConfig, checkpoint::RopeType;

namespace {

// Nine or ten digits were written down.
bool is_close(double got, double expected) { return std::abs(got / expected - 1.0) <= 1e-9; }

double standard(double theta, Index head_dim, Index pair) {
  return std::pow(theta, -2.0 * static_cast<double>(pair) / static_cast<double>(head_dim));
}

ModelConfig config_of(RopeType type, double theta, Index head_dim, double factor) {
  ModelConfig config;
  config.head_dim = head_dim;
  config.context = 4096;
  config.rope.type = type;
  config.rope.theta = theta;
  config.rope.factor = factor;
  return config;
}

}  // namespace

TEST_CASE("standard RoPE turns pair j by theta^(-2j/d), linear RoPE factor times slower", "[model]") {
  for (const Index head_dim : {2, 32, 128}) {
    const auto plain = model::rope_frequencies(config_of(RopeType::standard, 1e4, head_dim, 1.0), 9);
    const auto linear = model::rope_frequencies(config_of(RopeType::linear, 1e4, head_dim, 4.0), 9);
    REQUIRE(plain.inverse.size() == at(head_dim / 2));
    REQUIRE(linear.inverse.size() == at(head_dim / 2));
    for (Index j = 0; j < head_dim / 2; ++j) {
      CHECK(is_close(plain.inverse[at(j)], standard(1e4, head_dim, j)));
      CHECK(is_close(linear.inverse[at(j)], standard(1e4, head_dim, j) / 4.0));
    }
    CHECK(plain.scale == 1.0);
    CHECK(linear.scale == 1.0);
  }
}

TEST_CASE("llama3 RoPE keeps short wavelengths, divides long ones and blends between", "[model]") {
  ModelConfig config = config_of(RopeType::llama3, 5e5, 64, 32.0);
  config.rope.low_freq_factor = 1.0;
  config.rope.high_freq_factor = 4.0;
  config.rope.original_context = 8192;
  const auto small = model::rope_frequencies(config, 9).inverse;
  for (Index j = 0; j < 32; ++j) {
    const double plain = standard(5e5, 64, j);
    CAPTURE(j);
    if (j <= 14) CHECK(is_close(small[at(j)], plain));
    if (j >= 18) CHECK(is_close(small[at(j)], plain / 32.0));
    if (j > 14 && j < 18) CHECK((small[at(j)] < 0.999 * plain && small[at(j)] > 1.001 * plain / 32.0));
  }
  CHECK(is_close(small[15], 1.290547928e-03));
  CHECK(is_close(small[17], 9.708287803e-05));
  CHECK(is_close(small[18], 1.946163818e-05));
  CHECK(is_close(small[31], 9.418306725e-08));

  config.head_dim = 128;
  config.rope.factor = 8.0;
  const auto large = model::rope_frequencies(config, 9);
  CHECK(is_close(large.inverse[28], standard(5e5, 128, 28)));
  CHECK(is_close(large.inverse[29], 2.166570764e-03));
  CHECK(is_close(large.inverse[34], 1.785078128e-04));
  CHECK(is_close(large.inverse[35], 9.556212354e-05));
  CHECK(is_close(large.inverse[63], 3.068925989e-07));
  CHECK(large.scale == 1.0);
}

TEST_CASE("YaRN blends between the correction range's ends and scales the attention", "[model]") {
  ModelConfig config = config_of(RopeType::yarn, 1e6, 128, 4.0);
  config.rope.original_context = 32768;
  const auto yarn = model::rope_frequencies(config, 9);
  for (Index j = 0; j <= 23; ++j) CHECK(is_close(yarn.inverse[at(j)], standard(1e6, 128, j)));
  for (Index j = 40; j < 64; ++j) CHECK(is_close(yarn.inverse[at(j)], standard(1e6, 128, j) / 4.0));
  CHECK(is_close(yarn.inverse[23], 6.978305849e-03));
  CHECK(is_close(yarn.inverse[24], 5.375321491e-03));
  CHECK(is_close(yarn.inverse[40], 4.445698525e-05));
  CHECK(is_close(yarn.scale, 1.138629436));
}

TEST_CASE("YaRN's attention factor is the one given, else that of mscale, else that of the factor",
          "[model]") {
  ModelConfig config = config_of(RopeType::yarn, 1e6, 128, 4.0);
  config.rope.original_context = 32768;
  config.rope.mscale = 2.0;
  CHECK(is_close(model::rope_frequencies(config, 9).scale, 0.1 * std::log(4.0) + 1.0));  // needs both
  config.rope.mscale_all_dim = 0.5;
  CHECK(is_close(model::rope_frequencies(config, 9).scale,
                 (0.2 * std::log(4.0) + 1.0) / (0.05 * std::log(4.0) + 1.0)));
  config.rope.attention_factor = 0.75;
  CHECK(model::rope_frequencies(config, 9).scale == 0.75);
  config.rope.attention_factor.reset();
  config.rope.factor = 1.0;
  CHECK(model::rope_frequencies(config, 9).scale == 1.0);
}

TEST_CASE("YaRN without truncation takes the range as it is", "[model]") {
  ModelConfig config = config_of(RopeType::yarn, 1e6, 128, 4.0);
  config.rope.original_context = 32768;
  config.rope.truncate = false;
  const auto yarn = model::rope_frequencies(config, 9);
  const auto end = [](double rotations) {
    return 128.0 * std::log(32768.0 / (rotations * 2.0 * std::acos(-1.0))) / (2.0 * std::log(1e6));
  };
  const double ramp = (30.0 - end(32.0)) / (end(1.0) - end(32.0));
  CHECK(is_close(yarn.inverse[30], standard(1e6, 128, 30) * (ramp / 4.0 + 1.0 - ramp)));
}

TEST_CASE("dynamic RoPE stretches theta beyond the context and not before", "[model]") {
  const ModelConfig config = config_of(RopeType::dynamic, 1e4, 128, 2.0);
  for (const Index length : {1, 4095, 4096})
    CHECK(is_close(model::rope_frequencies(config, length).inverse[5], standard(1e4, 128, 5)));
  const auto stretched = model::rope_frequencies(config, 8192);
  for (Index j = 0; j < 64; ++j) CHECK(is_close(stretched.inverse[at(j)], standard(30527.736749, 128, j)));
  CHECK(stretched.scale == 1.0);
}
