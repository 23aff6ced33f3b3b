#pragma once

#include <span>
#include <string>

#include "tensor/typed_view.hpp"
#include "tensor/view.hpp"

namespace wafer::kernels {

/// What a product does with what its output held before.
enum class Output { overwrite, add };

/// C = A B or C += A B on one core. Float32 arithmetic; B is widened first where it is stored in 16 bits.
///
/// @param A (m, k)
/// @param B (k, n)
/// @param C (m, n), overlaps neither A nor B
/// The same bits for equal shapes, strides apart, on every rank: OpenBLAS runs on one thread.
void gemm(MatrixView<const float> A, TypedView B, MatrixView<float> C, Output output);
void gemm(MatrixView<const float> A, MatrixView<const float> B, MatrixView<float> C, Output output);

/// C = A B^T or C += A B^T on one core.
///
/// @param A (m, k)
/// @param B (n, k)
/// @param C (m, n), overlaps neither A nor B
void gemm_nt(MatrixView<const float> A, MatrixView<const float> B, MatrixView<float> C, Output output);

/// Elements stored as `type` to float32.
void widen(DType type, const std::byte* from, std::span<float> to);

/// Makes the library that does the local products run on one thread, as equal bits demand, and names it:
/// "OpenBLAS 0.3.21 Haswell". More threads are for who measures the library itself.
std::string use_library(int threads = 1);

}  // namespace wafer::kernels
