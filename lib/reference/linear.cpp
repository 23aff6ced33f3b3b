#include "reference/linear.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/error.hpp"
#include "reference/arithmetic.hpp"

namespace wafer::reference {
namespace {

using checkpoint::Checkpoint;
using checkpoint::WeightId;

constexpr Index slab_elements = (16 << 20) / sizeof(double);

template <class Stored, class ToFloat>
void widen_as(std::span<const std::byte> stored, std::span<double> out, ToFloat to_float) {
  const std::byte* const from = stored.data();
  double* const to = out.data();
  for (std::size_t i = 0; i < out.size(); ++i) {
    Stored element;
    std::memcpy(&element, from + i * sizeof(Stored), sizeof(Stored));
    to[i] = static_cast<double>(to_float(element));
  }
}

/// Exact for every type.
void widen(DType type, std::span<const std::byte> stored, std::span<double> out) {
  switch (type) {
  case DType::f32:
    return widen_as<float>(stored, out, [](float value) { return value; });
  case DType::bf16:
    return widen_as<std::uint16_t>(stored, out, float_of_bf16);
  case DType::f16:
    return widen_as<std::uint16_t>(stored, out, float_of_f16);
  }
}

std::vector<Index> run_of(Index first, Index count) {
  std::vector<Index> indices(at(count));
  std::iota(indices.begin(), indices.end(), first);
  return indices;
}

}  // namespace

std::vector<double> read_rows(const Checkpoint& checkpoint, WeightId matrix, Index first, Index count) {
  const Index cols = shape_of(checkpoint.config(), matrix).cols;
  const DType type = checkpoint.dtype(matrix);
  std::vector<std::byte> stored(at(count * cols) * size_of(type));
  checkpoint.read(matrix, run_of(first, count), run_of(0, cols), stored);
  std::vector<double> rows(at(count * cols));
  widen(type, stored, rows);
  return rows;
}

std::vector<double> linear(const Checkpoint& checkpoint, WeightId matrix, std::span<const double> x) {
  const Shape shape = shape_of(checkpoint.config(), matrix);
  const auto tokens = static_cast<Index>(x.size()) / shape.cols;
  WAFER_CHECK(static_cast<Index>(x.size()) == tokens * shape.cols,
              "rows of another length than the matrix's");
  std::vector<double> y(at(tokens * shape.rows));
  const MatrixView inputs(x.data(), {tokens, shape.cols});
  const MatrixView outputs(y.data(), {tokens, shape.rows});

  const Index slab_rows = std::max<Index>(1, slab_elements / shape.cols);
  for (Index first = 0; first < shape.rows; first += slab_rows) {
    const Index count = std::min(slab_rows, shape.rows - first);
    const std::vector<double> slab = read_rows(checkpoint, matrix, first, count);
    const MatrixView weights(slab.data(), {count, shape.cols});
    for (Index i = 0; i < count; ++i)
      for (Index token = 0; token < tokens; ++token)
        outputs(token, first + i) = dot(inputs.row(token), weights.row(i));
  }
  return y;
}

void add_bias(const Checkpoint& checkpoint, WeightId bias, std::span<double> rows) {
  const std::vector<float> values = checkpoint.read_vector(bias);
  for (std::size_t start = 0; start < rows.size(); start += values.size())
    for (std::size_t i = 0; i < values.size(); ++i) rows[start + i] += static_cast<double>(values[i]);
}

}  // namespace wafer::reference
