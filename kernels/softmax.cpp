#include "kernels/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wafer::kernels {

float row_max(std::span<const float> x) {
  float max = -std::numeric_limits<float>::infinity();
  for (const float value : x) max = std::max(max, value);
  return max;
}

float exponentials(std::span<float> x, float max) {
  float sum = 0.0F;
  constexpr float none = -std::numeric_limits<float>::infinity();
  for (float& value : x) {
    value =
        value == none ? 0.0F : std::exp(value - max);  // -inf - -inf would be NaN where nothing is visible
    sum += value;
  }
  return sum;
}

void divide(std::span<float> x, float divisor) {
  for (float& value : x) value /= divisor;
}

}  // namespace wafer::kernels
