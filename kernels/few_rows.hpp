#pragma once

#include "kernels/gemm.hpp"

namespace wafer::kernels {

/// gemm() and gemm_nt() for one token's attention, where A has a row for each head of a group: what is so
/// small that calling a library takes longer than the product is added up here, element by element of the
/// sum. Which products those are, their shape decides.
void few_rows_gemm(MatrixView<const float> A, MatrixView<const float> B, MatrixView<float> C, Output output);
void few_rows_gemm_nt(MatrixView<const float> A, MatrixView<const float> B, MatrixView<float> C,
                      Output output);

}  // namespace wafer::kernels
