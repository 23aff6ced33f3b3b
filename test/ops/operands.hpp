#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "fabric/tilings.hpp"
#include "kernels/gemm.hpp"
#include "tensor/aligned_buffer.hpp"

namespace wafer::test {

/// One thread for local products, as equal bits demand.
inline const std::string library = kernels::use_library();

/// a_ik = (i + 1) / (k + 1) and b_kj = (k + 1) / (j + 1), whose product is K (i + 1) / (j + 1).
inline std::vector<float> ratios(Shape shape) {
  std::vector<float> values;
  for (Index i = 0; i < shape.rows; ++i)
    for (Index j = 0; j < shape.cols; ++j)
      values.push_back(static_cast<float>(i + 1) / static_cast<float>(j + 1));
  return values;
}

/// Largest |c_ij - K (i + 1) / (j + 1)| of a product gathered at rank 0, as a share of what rounding allows:
/// 4 K eps |a_i| |b_j|. More than 1 is wrong. The same on every rank.
inline double closed_form_error(const std::vector<float>& product, Shape shape, Index K) {
  double worst = 0.0;
  if (world().is_root()) {
    const auto k = static_cast<double>(K);
    if (static_cast<Index>(product.size()) != shape.size()) worst = INFINITY;
    for (Index i = 0; i < shape.rows && worst < INFINITY; ++i)
      for (Index j = 0; j < shape.cols; ++j) {
        const double ratio = static_cast<double>(i + 1) / static_cast<double>(j + 1);
        const double error = std::abs(static_cast<double>(product[at(i * shape.cols + j)]) - k * ratio);
        double inverse_squares = 0.0;
        double squares = 0.0;
        for (Index n = 1; n <= K; ++n) {
          squares += static_cast<double>(n * n);
          inverse_squares += 1.0 / static_cast<double>(n * n);
        }
        const double allowed = 4.0 * k * 0x1p-24 * ratio * std::sqrt(squares * inverse_squares);
        worst = std::max(worst, error > allowed ? error / allowed : 0.0);
      }
  }
  return world().max(worst);
}

/// Largest |got - expected| / (1 + |expected|); infinite for another length or a NaN.
inline double distance(const std::vector<float>& got, std::span<const double> expected) {
  if (got.size() != expected.size()) return INFINITY;
  double most = 0.0;
  for (std::size_t k = 0; k < got.size(); ++k) {
    const double error = std::abs(static_cast<double>(got[k]) - expected[k]) / (1.0 + std::abs(expected[k]));
    if (!(error <= most)) most = std::isnan(error) ? INFINITY : error;
  }
  return most;
}

/// A matrix in aligned memory of its own, as a block on the mesh has it.
class Local {
public:
  explicit Local(Shape shape) : memory_(at(shape.size()) * sizeof(float) + 1), shape_(shape) {}

  MatrixView<float> view() { return {reinterpret_cast<float*>(memory_.data()), shape_}; }
  MatrixView<const float> view() const { return {reinterpret_cast<const float*>(memory_.data()), shape_}; }

private:
  AlignedBuffer memory_;
  Shape shape_;
};

/// The rows and columns of a whole matrix, row-major with `width` columns, that a block has.
inline Local block_of(const std::vector<float>& whole, Index width, std::span<const Index> rows,
                      std::span<const Index> cols) {
  Local block({static_cast<Index>(rows.size()), static_cast<Index>(cols.size())});
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < cols.size(); ++j)
      block.view()(static_cast<Index>(i), static_cast<Index>(j)) = whole[at(rows[i] * width + cols[j])];
  return block;
}

/// Puts a block into the whole matrix.
inline void put(MatrixView<const float> block, Index width, std::span<const Index> rows,
                std::span<const Index> cols, std::vector<float>& whole) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < cols.size(); ++j)
      whole[at(rows[i] * width + cols[j])] = block(static_cast<Index>(i), static_cast<Index>(j));
}

/// `values` as stored in 16 bits, and back.
inline std::vector<float> rounded(std::vector<float> values, DType type) {
  for (float& value : values)
    if (type != DType::f32)
      value = type == DType::bf16 ? float_of_bf16(bf16_of(value)) : float_of_f16(f16_of(value));
  return values;
}

/// A matrix that is stored as `type` on the mesh. Collective.
inline fabric::Blocks placed_as(DType type, const fabric::Fabric& fabric, const fabric::Placement& placement,
                                const std::vector<float>& whole) {
  auto wide = placed(fabric, placement, whole);
  if (type == DType::f32) return wide;
  fabric::Blocks narrow(fabric, placement, type);
  for (Index i = 0; i < placement.rows().parts(); ++i)
    for (Index j = 0; j < placement.cols().parts(); ++j) {
      if (!placement.lies_in(fabric.tile(), i, j)) continue;
      auto* bits = reinterpret_cast<std::uint16_t*>(narrow.raw(i, j));
      const float* values = wide(i, j).data();
      for (Index k = 0; k < narrow.shape(i, j).size(); ++k)
        bits[k] = type == DType::bf16 ? bf16_of(values[k]) : f16_of(values[k]);
    }
  return narrow;
}

}  // namespace wafer::test
