#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace wafer::kernels {

/// exp(x) within 2 units in the last place, in operations that the compiler has vectors for; the same bits in
/// a vector of any width. Below -87 it is 0, above 88 infinity; of NaN it is NaN.
inline __attribute__((always_inline)) float exponential(float x) {
  // exp(x) = 2^n exp(r) with n = round(x / ln 2). Adding 1.5 * 2^23 rounds, and leaves n in the low bits.
  constexpr float rounder = 12582912.0F;
  constexpr float ln2_high = 0.693359375F, ln2_low = -2.12194440e-4F;  // n * ln2_high is exact
  const float clamped = x > 88.0F ? 88.0F : x;
  const float shifted = clamped * 1.44269504F + rounder;
  const float n = shifted - rounder;
  const float r = (clamped - n * ln2_high) - n * ln2_low;
  float series = 1.0F / 5040.0F;  // Taylor's: |r| is at most ln 2 / 2
  series = series * r + 1.0F / 720.0F;
  series = series * r + 1.0F / 120.0F;
  series = series * r + 1.0F / 24.0F;
  series = series * r + 1.0F / 6.0F;
  series = series * r + 0.5F;
  series = series * r * r + r + 1.0F;
  const auto exponent = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(rounder) + 127;
  const float power = std::bit_cast<float>(exponent << 23);
  const float result = x > 88.0F ? std::numeric_limits<float>::infinity() : series * power;
  return x < -87.0F ? 0.0F : result;
}

}  // namespace wafer::kernels
