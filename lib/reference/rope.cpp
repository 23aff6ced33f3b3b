#include "reference/rope.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.hpp"

namespace wafer::reference {
namespace {

using checkpoint::ModelConfig;
using checkpoint::RopeConfig;
using checkpoint::RopeType;

constexpr double two_pi = 2 * std::numbers::pi;

/// theta^(-2j/d) for each pair j.
std::vector<double> standard_frequencies(double theta, Index head_dim) {
  std::vector<double> frequencies(at(head_dim / 2));
  for (Index j = 0; j < head_dim / 2; ++j)
    frequencies[at(j)] = std::pow(theta, -2 * static_cast<double>(j) / static_cast<double>(head_dim));
  return frequencies;
}

/// The base grows with the sequence once that is longer than the model was trained for.
double dynamic_theta(const ModelConfig& config, Index length) {
  const auto d = static_cast<double>(config.head_dim);
  const double factor = config.rope.factor;
  const double stretch =
      static_cast<double>(std::max(length, config.context)) / static_cast<double>(config.context);
  return config.rope.theta * std::pow(factor * stretch - (factor - 1), d / (d - 2));
}

/// Short wavelengths stay, long ones are stretched by `factor`, those between are blended.
double llama3_frequency(const RopeConfig& rope, double frequency) {
  const auto context = static_cast<double>(rope.original_context);
  const double wavelength = two_pi / frequency;
  if (wavelength < context / rope.high_freq_factor) return frequency;
  if (wavelength > context / rope.low_freq_factor) return frequency / rope.factor;
  const double kept =
      (context / wavelength - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
  return (1 - kept) * frequency / rope.factor + kept * frequency;
}

/// The (fractional) pair that makes `rotations` turns over the original context.
double yarn_pair(const RopeConfig& rope, Index head_dim, double rotations) {
  return static_cast<double>(head_dim) *
         std::log(static_cast<double>(rope.original_context) / (two_pi * rotations)) /
         (2 * std::log(rope.theta));
}

/// Pairs before `low` stay, pairs after `high` are stretched by `factor`, a ramp lies between.
void stretch_yarn(const RopeConfig& rope, Index head_dim, std::span<double> frequencies) {
  double low = yarn_pair(rope, head_dim, rope.beta_fast);
  double high = yarn_pair(rope, head_dim, rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(head_dim - 1));
  if (low == high) high += 0.001;  // a ramp of no length would divide by zero
  for (std::size_t j = 0; j < frequencies.size(); ++j) {
    const double ramp = std::clamp((static_cast<double>(j) - low) / (high - low), 0.0, 1.0);
    frequencies[j] = frequencies[j] / rope.factor * ramp + frequencies[j] * (1 - ramp);
  }
}

double yarn_mscale(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1;
}

}  // namespace

std::vector<double> rope_frequencies(const ModelConfig& config, Index length) {
  const RopeConfig& rope = config.rope;
  if (rope.type == RopeType::dynamic)
    return standard_frequencies(dynamic_theta(config, length), config.head_dim);

  std::vector<double> frequencies = standard_frequencies(rope.theta, config.head_dim);
  if (rope.type == RopeType::linear)
    for (double& frequency : frequencies) frequency /= rope.factor;
  if (rope.type == RopeType::llama3)
    for (double& frequency : frequencies) frequency = llama3_frequency(rope, frequency);
  if (rope.type == RopeType::yarn) stretch_yarn(rope, config.head_dim, frequencies);
  return frequencies;
}

double rope_attention_factor(const RopeConfig& rope) {
  if (rope.type != RopeType::yarn) return 1;
  if (rope.attention_factor) return *rope.attention_factor;
  const double mscale = rope.mscale.value_or(0);
  const double mscale_all_dim = rope.mscale_all_dim.value_or(0);
  if (mscale == 0 || mscale_all_dim == 0) return yarn_mscale(rope.factor, 1);  // zero counts as not given
  return yarn_mscale(rope.factor, mscale) / yarn_mscale(rope.factor, mscale_all_dim);
}

Rotation make_rotation(const ModelConfig& config, Index first, Index tokens) {
  const std::vector<double> frequencies = rope_frequencies(config, first + tokens);
  const double factor = rope_attention_factor(config.rope);
  Rotation rotation;
  rotation.cosines.reserve(at(tokens) * frequencies.size());
  rotation.sines.reserve(at(tokens) * frequencies.size());
  for (Index position = first; position < first + tokens; ++position)
    for (const double frequency : frequencies) {
      const double angle = static_cast<double>(position) * frequency;
      rotation.cosines.push_back(factor * std::cos(angle));
      rotation.sines.push_back(factor * std::sin(angle));
    }
  return rotation;
}

void rotate(std::span<double> rows, const Rotation& rotation, Index head_dim) {
  const std::size_t half = at(head_dim / 2);
  const std::size_t tokens = rotation.cosines.size() / half;
  if (tokens == 0) return;
  const std::size_t width = rows.size() / tokens;
  WAFER_CHECK(rows.size() == tokens * width && width % (2 * half) == 0, "rows that are not whole heads");
  for (std::size_t start = 0; start < rows.size(); start += 2 * half) {
    const std::size_t row = start / width * half;
    for (std::size_t j = 0; j < half; ++j) {
      const double cosine = rotation.cosines[row + j];
      const double sine = rotation.sines[row + j];
      const double a = rows[start + j];
      const double b = rows[start + half + j];
      rows[start + j] = a * cosine - b * sine;
      rows[start + half + j] = b * cosine + a * sine;
    }
  }
}

}  // namespace wafer::reference
