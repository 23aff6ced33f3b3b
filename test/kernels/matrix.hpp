#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/dtype.hpp"
#include "core/random.hpp"
#include "kernels/gemm.hpp"
#include "tensor/view.hpp"

namespace wafer::test {

/// A matrix of normal numbers whose rows are `gap` apart, so that one can see what is written beside it.
struct Matrix {
  Matrix(Shape shape_of, Index gap, std::uint64_t stream) : shape(shape_of), stride(shape_of.cols + gap) {
    const Random random(3, stream);
    memory.resize(at(shape.rows * stride) + 1);
    for (std::size_t k = 0; k < memory.size(); ++k) memory[k] = random.normal(k);
  }
  MatrixView<float> view() { return {memory.data(), shape, stride}; }
  MatrixView<const float> view() const { return {memory.data(), shape, stride}; }
  Shape shape;
  Index stride;
  std::vector<float> memory;
};

/// The elements as stored in 16 bits, without gaps; NaN behind the end.
inline std::vector<std::uint16_t> narrowed(const Matrix& wide, DType type) {
  std::vector<std::uint16_t> bits;
  for (Index i = 0; i < wide.shape.rows; ++i)
    for (const float value : wide.view().row(i))
      bits.push_back(type == DType::bf16 ? bf16_of(value) : f16_of(value));
  bits.push_back(0xffff);
  return bits;
}

/// Elements of C that are not A B, plus `before` where that counts, within 4 k eps |a_i| |b_j|; and what was
/// changed beside the matrix. b(k, j) is an element of B.
template <class B_at>
int wrong_elements(const Matrix& A, B_at b, const Matrix& C, const Matrix& before, bool adds) {
  int wrong = 0;
  for (Index i = 0; i < C.shape.rows; ++i) {
    for (Index j = 0; j < C.shape.cols; ++j) {
      double expected = adds ? static_cast<double>(before.view()(i, j)) : 0.0;
      double a_squares = expected * expected;
      double b_squares = 1.0;
      for (Index k = 0; k < A.shape.cols; ++k) {
        const double a = A.view()(i, k);
        const double factor = b(k, j);
        expected += a * factor;
        a_squares += a * a;
        b_squares += factor * factor;
      }
      const double allowed =
          4.0 * static_cast<double>(A.shape.cols + 1) * 0x1p-24 * std::sqrt(a_squares * b_squares);
      const double error = std::abs(static_cast<double>(C.view()(i, j)) - expected);
      if (!(error <= allowed)) ++wrong;  // NaN counts
    }
    for (Index k = C.shape.cols; k < C.stride; ++k) {
      const std::size_t beside = at(i * C.stride + k);
      if (C.memory[beside] != before.memory[beside]) ++wrong;
    }
  }
  return wrong;
}

/// Whether gemm(A, B, C, output) adds to C, or overwrites it with, the product of A (m, k) and B, which is
/// (k, n) or, transposed, (n, k); and writes nothing beside C.
template <class Gemm>
bool is_product(Gemm gemm, Index m, Index k, Index n, kernels::Output output, bool transposed = false) {
  const Matrix A({m, k}, 3, 1);
  const Matrix B(transposed ? Shape{n, k} : Shape{k, n}, 1, 2);
  const Matrix before({m, n}, 2, 3);
  Matrix C = before;
  gemm(A.view(), B.view(), C.view(), output);
  const auto b = [&](Index i, Index j) { return transposed ? B.view()(j, i) : B.view()(i, j); };
  return wrong_elements(A, b, C, before, output == kernels::Output::add) == 0;
}

}  // namespace wafer::test
