#pragma once

#include "tensor/view.hpp"

namespace wafer::kernels {

/// The width that the operands of small_gemm() are padded to: whole vectors.
constexpr Index padded(Index n) { return (n + 7) / 8 * 8; }

/// C += A B for products too small for a BLAS call to pay, by code that LIBXSMM makes for the shape; where it
/// has none for this processor, by OpenBLAS.
///
/// @param A (m, k)
/// @param B (k, n)
/// @param C (m, n), overlaps neither A nor B
/// @pre n == padded(n): what the padding holds is computed with and means nothing
/// Cost: the first call of a shape makes its code, about 0.1 ms. The same bits for equal shapes, strides
/// apart.
void small_gemm(MatrixView<const float> A, MatrixView<const float> B, MatrixView<float> C);

}  // namespace wafer::kernels
