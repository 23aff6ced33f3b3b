#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include "core/index.hpp"

namespace wafer {

struct Shape {
  Index rows = 0;
  Index cols = 0;
  Index size() const { return rows * cols; }
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// Non-owning row-major matrix: element (i, j) is data[i * stride + j].
///
/// Pass it by value. Like std::span, constness is in T: MatrixView<const float> only reads.
template <class T>
class MatrixView {
public:
  MatrixView() = default;
  MatrixView(T* data, Shape shape, Index stride) : data_(data), shape_(shape), stride_(stride) {
    assert(stride >= shape.cols);
  }
  MatrixView(T* data, Shape shape) : MatrixView(data, shape, shape.cols) {}

  template <class U>
  requires(std::same_as<const U, T> && !std::same_as<U, T>) MatrixView(MatrixView<U> other)
      : MatrixView(other.data(), other.shape(), other.stride()) {}

  T& operator()(Index i, Index j) const {
    assert(0 <= i && i < rows() && 0 <= j && j < cols());
    return data_[i * stride_ + j];
  }
  std::span<T> row(Index i) const {
    assert(0 <= i && i < rows());
    return {data_ + i * stride_, static_cast<std::size_t>(cols())};
  }
  /// The `shape` elements from (i, j) on, sharing this view's memory.
  MatrixView block(Index i, Index j, Shape shape) const {
    assert(0 <= i && i + shape.rows <= rows() && 0 <= j && j + shape.cols <= cols());
    return {data_ + i * stride_ + j, shape, stride_};
  }

  T* data() const { return data_; }
  Shape shape() const { return shape_; }
  Index rows() const { return shape_.rows; }
  Index cols() const { return shape_.cols; }
  Index stride() const { return stride_; }

private:
  T* data_ = nullptr;
  Shape shape_;
  Index stride_ = 0;
};

static_assert(std::is_trivially_copyable_v<MatrixView<float>>);

}  // namespace wafer
