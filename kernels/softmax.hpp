#pragma once

#include <span>

namespace wafer::kernels {

/// Largest element; -infinity of none.
float row_max(std::span<const float> x);

/// x = exp(x - max), and the sum of that. Where max is -infinity (nothing is visible) all become 0.
float exponentials(std::span<float> x, float max);

/// x = x / divisor.
void divide(std::span<float> x, float divisor);

}  // namespace wafer::kernels
