#pragma once

#include <span>

#include "core/dtype.hpp"

namespace wafer::kernels {

/// Every element becomes the nearest value that `type` has, ties to even; what is too large becomes infinity.
/// Nothing for float32.
void round_to(DType type, std::span<float> x);

/// Float32 to elements stored as `type`, rounded likewise: widen() the other way.
void narrow(DType type, std::span<const float> from, std::byte* to);

}  // namespace wafer::kernels
