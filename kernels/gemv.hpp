#pragma once

#include <span>

#include "tensor/typed_view.hpp"

namespace wafer::kernels {

/// c += a B on one core; B is widened in registers where it is stored in 16 bits.
///
/// @param a (k)
/// @param B (k, n)
/// @param c (n)
/// Every c_j is added to one product after the other, so vectors of any width give the same bits. Four rows
/// are taken together: neighbours, or, where a quarter of B has at least 4 KiB, row i of each quarter of the
/// rows, which reads memory as four streams; then the k % 4 rows left.
void gemv_add(std::span<const float> a, TypedView B, std::span<float> c);

}  // namespace wafer::kernels
