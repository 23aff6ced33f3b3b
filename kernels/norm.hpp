#pragma once

#include <span>

namespace wafer::kernels {

/// Sum of the squares of a row's slice: what a core adds to the all-reduce of RMSNorm.
float sum_of_squares(std::span<const float> x);

/// y = x scale gamma, element by element; scale = 1 / sqrt(mean of squares + eps). x and y may be the same.
void normalize(std::span<const float> x, float scale, std::span<const float> gamma, std::span<float> y);

/// 1 / sqrt(sum / n + eps).
float rms_scale(float sum, float n, float eps);

}  // namespace wafer::kernels
