#include "kernels/few_rows.hpp"

#include <algorithm>
#include <array>

namespace wafer::kernels {

namespace {

// OpenBLAS takes a lock and packs both operands: about what four thousand products take.
constexpr Index few_products = 4096;

bool is_small(Shape C, Index depth) { return C.size() * depth <= few_products; }

// Eight sums: a vector register, as in sum_of_squares().
float dot(std::span<const float> x, std::span<const float> y) {
  std::array<float, 8> partial{};
  const std::size_t whole = x.size() / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8)
    for (std::size_t k = 0; k < 8; ++k) partial[k] += x[i + k] * y[i + k];
  for (std::size_t i = whole; i < x.size(); ++i) partial[i - whole] += x[i] * y[i];
  float sum = 0.0F;
  for (const float p : partial) sum += p;
  return sum;
}

}  // namespace

void few_rows_gemm(MatrixView<const float> A, MatrixView<const float> B, MatrixView<float> C, Output output) {
  if (!is_small(C.shape(), A.cols())) return gemm(A, B, C, output);
  assert(A.cols() == B.rows() && C.shape() == (Shape{A.rows(), B.cols()}));
  for (Index i = 0; i < C.rows(); ++i) {
    const std::span<float> c = C.row(i);
    if (output == Output::overwrite) std::fill(c.begin(), c.end(), 0.0F);
    for (Index k = 0; k < A.cols(); ++k) {
      const float a = A(i, k);
      const std::span<const float> b = B.row(k);
      for (std::size_t j = 0; j < c.size(); ++j) c[j] += a * b[j];
    }
  }
}

void few_rows_gemm_nt(MatrixView<const float> A, MatrixView<const float> B, MatrixView<float> C,
                      Output output) {
  if (!is_small(C.shape(), A.cols())) return gemm_nt(A, B, C, output);
  assert(A.cols() == B.cols() && C.shape() == (Shape{A.rows(), B.rows()}));
  for (Index i = 0; i < C.rows(); ++i)
    for (Index n = 0; n < C.cols(); ++n) {
      const float product = dot(A.row(i), B.row(n));
      C(i, n) = output == Output::add ? C(i, n) + product : product;
    }
}

}  // namespace wafer::kernels
