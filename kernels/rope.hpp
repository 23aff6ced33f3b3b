#pragma once

#include <span>

namespace wafer::kernels {

/// Rotates the pairs (first[j], second[j]) by the angle whose cosine and sine are given, then multiplies by
/// `scale`: rotate-half RoPE on a slice of the pairs of one head.
void rotate(std::span<float> first, std::span<float> second, std::span<const float> cosine,
            std::span<const float> sine, float scale);

}  // namespace wafer::kernels
