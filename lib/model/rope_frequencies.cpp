#include "model/rope_frequencies.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace wafer::model {

using checkpoint::RopeConfig, checkpoint::RopeType;

namespace {

constexpr double turn = 2.0 * std::numbers::pi;

std::vector<double> powers(double theta, Index head_dim) {
  std::vector<double> inverse;
  for (Index j = 0; j < head_dim / 2; ++j)
    inverse.push_back(std::pow(theta, -2.0 * static_cast<double>(j) / static_cast<double>(head_dim)));
  return inverse;
}

double dynamic_theta(const checkpoint::ModelConfig& config, Index length) {
  const auto d = static_cast<double>(config.head_dim);
  const double stretch =
      static_cast<double>(std::max(length, config.context)) / static_cast<double>(config.context);
  return config.rope.theta *
         std::pow(config.rope.factor * stretch - (config.rope.factor - 1.0), d / (d - 2.0));
}

// Short wavelengths stay, long ones are divided by the factor, those between are blended.
double llama3(const RopeConfig& rope, double inverse) {
  const auto original = static_cast<double>(rope.original_context);
  const double wavelength = turn / inverse;
  if (wavelength < original / rope.high_freq_factor) return inverse;
  if (wavelength > original / rope.low_freq_factor) return inverse / rope.factor;
  const double keep =
      (original / wavelength - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
  return (1.0 - keep) * inverse / rope.factor + keep * inverse;
}

void yarn(const RopeConfig& rope, Index head_dim, std::vector<double>& inverse) {
  const auto d = static_cast<double>(head_dim);
  // The pair that turns `rotations` times within the original context.
  const auto pair_of = [&](double rotations) {
    return d * std::log(static_cast<double>(rope.original_context) / (rotations * turn)) /
           (2.0 * std::log(rope.theta));
  };
  double low = pair_of(rope.beta_fast);
  double high = pair_of(rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, d - 1.0);
  if (low == high) high += 0.001;
  for (std::size_t j = 0; j < inverse.size(); ++j) {
    const double ramp = std::clamp((static_cast<double>(j) - low) / (high - low), 0.0, 1.0);
    inverse[j] = inverse[j] / rope.factor * ramp + inverse[j] * (1.0 - ramp);
  }
}

double yarn_scale(const RopeConfig& rope) {
  const auto g = [&](double m) { return rope.factor <= 1.0 ? 1.0 : 0.1 * m * std::log(rope.factor) + 1.0; };
  if (rope.attention_factor) return *rope.attention_factor;
  if (rope.mscale && rope.mscale_all_dim && *rope.mscale != 0.0 && *rope.mscale_all_dim != 0.0)
    return g(*rope.mscale) / g(*rope.mscale_all_dim);
  return g(1.0);
}

}  // namespace

ops::RopeFrequencies rope_frequencies(const checkpoint::ModelConfig& config, Index length) {
  const RopeConfig& rope = config.rope;
  const double theta = rope.type == RopeType::dynamic ? dynamic_theta(config, length) : rope.theta;
  ops::RopeFrequencies frequencies{powers(theta, config.head_dim), 1.0};
  switch (rope.type) {
  case RopeType::linear:
    for (double& inverse : frequencies.inverse) inverse /= rope.factor;
    break;
  case RopeType::llama3:
    for (double& inverse : frequencies.inverse) inverse = llama3(rope, inverse);
    break;
  case RopeType::yarn:
    yarn(rope, config.head_dim, frequencies.inverse);
    frequencies.scale = yarn_scale(rope);
    break;
  case RopeType::standard:
  case RopeType::dynamic:
    break;
  }
  return frequencies;
}

}  // namespace wafer::model
