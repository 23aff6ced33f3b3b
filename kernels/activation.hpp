#pragma once

#include <span>

namespace wafer::kernels {

/// y = silu(gate) up, element by element; silu(x) = x / (1 + exp(-x)). y may be either input.
void silu_product(std::span<const float> gate, std::span<const float> up, std::span<float> y);

/// x += y.
void add(std::span<const float> y, std::span<float> x);

/// x = max(x, y).
void maximum(std::span<const float> y, std::span<float> x);

}  // namespace wafer::kernels
