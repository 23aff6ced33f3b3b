#pragma once

#include <span>

#include "tensor/typed_view.hpp"

namespace wafer::kernels {

/// c += a B on one core, row after row of B, which is widened in registers where it is stored in 16 bits.
///
/// @param a (k)
/// @param B (k, n)
/// @param c (n)
/// Every c_j is added to in the order of k, so vectors of any width give the same bits.
void gemv_add(std::span<const float> a, TypedView B, std::span<float> c);

}  // namespace wafer::kernels
