#include "study/freivalds.hpp"

#include <bit>
#include <cmath>
#include <vector>

#include "core/random.hpp"

namespace wafer::study {

using fabric::Blocks, fabric::Fabric;

namespace {

// Calls f(row, column, value) for every element on this rank.
template <class F>
void for_elements(const Blocks& matrix, F f) {
  const auto& rows = matrix.placement().rows();
  const auto& cols = matrix.placement().cols();
  for (Index i = 0; i < rows.parts(); ++i)
    for (Index j = 0; j < cols.parts(); ++j) {
      if (!matrix.here(i, j)) continue;
      const auto block = matrix(i, j);
      for (Index r = 0; r < block.rows(); ++r)
        for (Index c = 0; c < block.cols(); ++c)
          f(rows.indices(i)[at(r)], cols.indices(j)[at(c)], block(r, c));
    }
}

// M x, or M^T x.
std::vector<double> times(const Fabric& fabric, const Blocks& matrix, const std::vector<double>& x,
                          bool transposed) {
  const Shape shape = matrix.placement().shape();
  std::vector<double> y(at(transposed ? shape.cols : shape.rows), 0.0);
  for_elements(matrix, [&](Index row, Index col, float value) {
    y[at(transposed ? col : row)] += static_cast<double>(value) * x[at(transposed ? row : col)];
  });
  fabric.communicator().sum(y);
  return y;
}

std::vector<double> squares_of_rows(const Fabric& fabric, const Blocks& matrix) {
  std::vector<double> squares(at(matrix.placement().shape().rows), 0.0);
  for_elements(matrix, [&](Index row, Index, float value) {
    squares[at(row)] += static_cast<double>(value) * static_cast<double>(value);
  });
  fabric.communicator().sum(squares);
  return squares;
}

}  // namespace

double freivalds(const Fabric& fabric, const Blocks& A, const Blocks& B, const Blocks& C, bool transposed) {
  constexpr int rounds = 2;
  constexpr double rounding = 0x1p-23;
  const auto row_squares = squares_of_rows(fabric, A);
  double b_square = 0.0;
  for (const double square : squares_of_rows(fabric, B)) b_square += square;
  double worst = 0.0;
  for (int round = 0; round < rounds; ++round) {
    const Random random(12345, static_cast<std::uint64_t>(round));
    std::vector<double> r(at(C.placement().cols().length()));
    for (std::size_t j = 0; j < r.size(); ++j) r[j] = random.uniform(j) < 0.5 ? -1.0 : 1.0;
    const auto want = times(fabric, A, times(fabric, B, r, transposed), false);
    const auto got = times(fabric, C, r, false);
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double allowed = 4.0 * rounding * std::sqrt(row_squares[i] * b_square);
      const double error = std::abs(got[i] - want[i]);
      const double share = error == 0.0 ? 0.0 : error / allowed;
      if (!(share <= worst)) worst = share;  // a NaN stays
      if (std::isnan(worst)) return worst;
    }
  }
  return worst;
}

std::uint64_t hash_of(const Fabric& fabric, const Blocks& matrix) {
  const Index width = matrix.placement().cols().length();
  std::uint64_t sum = 0;
  for_elements(matrix, [&](Index row, Index col, float value) {
    const auto words =
        Random(std::bit_cast<std::uint32_t>(value), 0).words(static_cast<std::uint64_t>(row * width + col));
    sum += (std::uint64_t{words[0]} << 32) | words[1];
  });
  return static_cast<std::uint64_t>(fabric.communicator().sum(static_cast<std::int64_t>(sum)));
}

}  // namespace wafer::study
