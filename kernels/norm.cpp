#include "kernels/norm.hpp"

#include <array>
#include <cassert>
#include <cmath>

namespace wafer::kernels {

float sum_of_squares(std::span<const float> x) {
  std::array<float, 8> partial{};  // eight sums: a vector register, and less rounding than one
  const std::size_t whole = x.size() / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8)
    for (std::size_t k = 0; k < 8; ++k) partial[k] += x[i + k] * x[i + k];
  for (std::size_t i = whole; i < x.size(); ++i) partial[i - whole] += x[i] * x[i];
  float sum = 0.0F;
  for (const float p : partial) sum += p;
  return sum;
}

void normalize(std::span<const float> x, float scale, std::span<const float> gamma, std::span<float> y) {
  assert(x.size() == gamma.size() && x.size() == y.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * scale * gamma[i];
}

float rms_scale(float sum, float n, float eps) { return 1.0F / std::sqrt(sum / n + eps); }

}  // namespace wafer::kernels
