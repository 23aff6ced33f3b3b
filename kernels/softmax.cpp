#include "kernels/softmax.hpp"

#include <algorithm>
#include <limits>

#include "core/vector_clones.hpp"
#include "kernels/exponential.hpp"

namespace wafer::kernels {

namespace {

constexpr float none = -std::numeric_limits<float>::infinity();

// Lane k combines the elements k, k + 16, ...: the same bits for equal lengths, and work for vectors.
constexpr std::size_t lanes = 16;

WAFER_VECTOR_CLONES float largest(const float* x, std::size_t n) {
  float most[lanes];
  for (float& lane : most) lane = none;
  std::size_t k = 0;
  for (; k + lanes <= n; k += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane)
      most[lane] = most[lane] < x[k + lane] ? x[k + lane] : most[lane];
  float max = none;
  for (; k < n; ++k) max = std::max(max, x[k]);
  for (const float lane : most) max = std::max(max, lane);
  return max;
}

WAFER_VECTOR_CLONES void exponentiate(float* x, std::size_t n, float max) {
  for (std::size_t k = 0; k < n; ++k)  // -inf - -inf would be NaN where nothing is visible
    x[k] = x[k] == none ? 0.0F : exponential(x[k] - max);
}

WAFER_VECTOR_CLONES float sum_of(const float* x, std::size_t n) {
  float sums[lanes] = {};
  std::size_t k = 0;
  for (; k + lanes <= n; k += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += x[k + lane];
  float sum = 0.0F;
  for (const float lane : sums) sum += lane;
  for (; k < n; ++k) sum += x[k];
  return sum;
}

}  // namespace

float row_max(std::span<const float> x) { return largest(x.data(), x.size()); }

float exponentials(std::span<float> x, float max) {
  exponentiate(x.data(), x.size(), max);
  return sum_of(x.data(), x.size());
}

void divide(std::span<float> x, float divisor) {
  for (float& value : x) value /= divisor;
}

}  // namespace wafer::kernels
