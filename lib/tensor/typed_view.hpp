#pragma once

#include "core/dtype.hpp"
#include "tensor/view.hpp"

namespace wafer {

/// A read-only row-major matrix without gaps whose elements are stored as `type`: a block of weights.
struct TypedView {
  DType type = DType::f32;
  const std::byte* data = nullptr;
  Shape shape;

  Index rows() const { return shape.rows; }
  Index cols() const { return shape.cols; }

  /// The elements of a matrix stored as float32, or as 16-bit words.
  const float* as_f32() const { return reinterpret_cast<const float*>(data); }
  const std::uint16_t* as_bits() const { return reinterpret_cast<const std::uint16_t*>(data); }

  /// Element (i, j), widened. For single elements; kernels widen whole blocks.
  float at(Index i, Index j) const {
    const Index k = i * shape.cols + j;
    if (type == DType::f32) return as_f32()[k];
    return type == DType::bf16 ? float_of_bf16(as_bits()[k]) : float_of_f16(as_bits()[k]);
  }
};

inline TypedView typed(MatrixView<const float> view) {
  assert(view.stride() == view.cols() || view.rows() <= 1);
  return {DType::f32, reinterpret_cast<const std::byte*>(view.data()), view.shape()};
}

}  // namespace wafer
