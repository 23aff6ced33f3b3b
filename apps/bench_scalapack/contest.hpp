#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench_scalapack/scalapack.hpp"
#include "core/random.hpp"
#include "fabric/agree.hpp"
#include "fabric/all_reduce.hpp"
#include "fabric/redistribute.hpp"
#include "ops/gemm.hpp"
#include "ops/gemv.hpp"

namespace wafer::bench {

using fabric::Blocks, fabric::Communicator, fabric::Fabric, fabric::Placement;

/// Where both sides run, and with which operands.
struct Setup {
  const Fabric& fabric;    // ours
  const Fabric& one_each;  // one core a rank, on ScaLAPACK's grid: to compare results there
  const ProcessGrid& grid;
  Index block;         // ScaLAPACK's
  std::uint64_t seed;  // of the operands

  const Communicator& world() const { return fabric.communicator(); }
};

/// Streams of random numbers, by operand.
constexpr std::uint64_t left_stream = 1, right_stream = 2;

/// A random matrix whose elements depend on their places alone: the same in every distribution.
class Elements {
public:
  Elements(std::uint64_t seed, std::uint64_t stream, Index width) : random_(seed, stream), width_(width) {}
  float operator()(Index row, Index col) const {
    return static_cast<float>(2.0 * random_.uniform(static_cast<std::uint64_t>(row * width_ + col)) - 1.0);
  }

private:
  Random random_;
  Index width_;
};

inline void fill(Blocks& matrix, std::uint64_t seed, std::uint64_t stream) {
  const auto& rows = matrix.placement().rows();
  const auto& cols = matrix.placement().cols();
  const Elements element(seed, stream, cols.length());
  for (Index i = 0; i < rows.parts(); ++i)
    for (Index j = 0; j < cols.parts(); ++j) {
      if (!matrix.here(i, j)) continue;
      const auto block = matrix(i, j);
      for (Index r = 0; r < block.rows(); ++r)
        for (Index c = 0; c < block.cols(); ++c)
          block(r, c) = element(rows.indices(i)[at(r)], cols.indices(j)[at(c)]);
    }
}

inline void fill(CyclicMatrix& matrix, std::uint64_t seed, std::uint64_t stream) {
  const Elements element(seed, stream, matrix.shape().cols);
  matrix.for_elements([&](Index row, Index col, float& value) { value = element(row, col); });
}

/// What norms() takes the norms of.
enum class Side { rows, columns };

/// 2-norms of all rows or columns. Collective.
inline std::vector<double> norms(const Communicator& world, const CyclicMatrix& matrix, Side side) {
  std::vector<double> sums(at(side == Side::rows ? matrix.shape().rows : matrix.shape().cols), 0.0);
  matrix.for_elements([&](Index row, Index col, float value) {
    sums[at(side == Side::rows ? row : col)] += static_cast<double>(value) * static_cast<double>(value);
  });
  world.sum(sums);
  for (double& sum : sums) sum = std::sqrt(sum);
  return sums;
}

/// Largest difference of the two results, of what rounding allows: four roundings of |a_i| |b_j|, the norms
/// of A's row and B's column, as in study::freivalds. Compared where ScaLAPACK has its elements. Collective.
inline double difference(const Setup& setup, const Blocks& ours, const CyclicMatrix& theirs,
                         const std::vector<double>& left, const std::vector<double>& right) {
  constexpr double rounding = 0x1p-23;
  Blocks moved(setup.one_each, Placement::plain(theirs.rows(), theirs.cols()));
  fabric::redistribute(setup.fabric, ours, setup.one_each, moved);
  const Index y = setup.grid.row(), x = setup.grid.column();
  double most = 0.0;
  theirs.for_elements([&](Index row, Index col, float value) {
    const float other = moved(y, x)(theirs.rows().place_of(row), theirs.cols().place_of(col));
    const double error = std::abs(static_cast<double>(other) - static_cast<double>(value));
    const double share = error == 0.0 ? 0.0 : error / (4.0 * rounding * left[at(row)] * right[at(col)]);
    most = share <= most ? most : share;  // NaN counts
    if (std::isnan(most)) most = INFINITY;
  });
  return setup.world().max(most);
}

/// One product by both.
class Contest {
public:
  virtual ~Contest() = default;
  virtual void ours() = 0;
  virtual void theirs() = 0;
  /// Of the last results, as a share of the rounding bound. Collective.
  virtual double disagreement() const = 0;
};

/// C = A B: MeshGEMM against psgemm.
class GemmContest : public Contest {
public:
  GemmContest(const Setup& setup, Index n)
      : setup_(setup), gemm_(ops::gemm_algorithm("mesh").make(setup.fabric)) {
    const mesh::Mesh mesh = setup.fabric.mesh();
    const Partition contraction = Partition::even(n, mesh.width);
    cols_ = Partition::even(n, mesh.width);
    const std::uint64_t seed = setup.seed;
    fabric::agree(setup.world(), [&] {  // memory may run out on some ranks only
      A_ = Blocks(setup.fabric, Placement::plain(Partition::even(n, mesh.height), contraction));
      B_ = Blocks(setup.fabric, gemm_->right(contraction, cols_));
      for (CyclicMatrix* matrix : {&A_cyclic_, &B_cyclic_, &C_cyclic_})
        *matrix = CyclicMatrix(setup.grid, {n, n}, setup.block);
      fill(A_, seed, left_stream);
      fill(B_, seed, right_stream);
      fill(A_cyclic_, seed, left_stream);
      fill(B_cyclic_, seed, right_stream);
    });
  }
  // The result's memory is new every time, as a caller of ours meets it; ScaLAPACK's is the caller's.
  void ours() override { C_ = gemm_->multiply(A_, B_, cols_); }
  void theirs() override { multiply(A_cyclic_, B_cyclic_, C_cyclic_); }
  double disagreement() const override {
    return difference(setup_, C_, C_cyclic_, norms(setup_.world(), A_cyclic_, Side::rows),
                      norms(setup_.world(), B_cyclic_, Side::columns));
  }

private:
  const Setup& setup_;
  std::unique_ptr<ops::Gemm> gemm_;
  Partition cols_;
  Blocks A_, B_, C_;
  CyclicMatrix A_cyclic_, B_cyclic_, C_cyclic_;
};

/// c = a B: MeshGEMV against psgemv. Our vector a lies with the rows of B on every mesh column before, and c
/// on every mesh row after; ScaLAPACK's a lies on one process column before, and c on one process row after.
/// So ScaLAPACK sends a and we send c.
class GemvContest : public Contest {
public:
  GemvContest(const Setup& setup, Index n)
      : setup_(setup), lines_(fabric::AllReduce::of_lines(setup.fabric, mesh::Axis::y)) {
    const Partition rows = Partition::even(n, setup.fabric.mesh().height);
    const std::uint64_t seed = setup.seed;
    const Index block = setup.block;
    fabric::agree(setup.world(), [&] {
      a_ = Blocks(setup.fabric, Placement::copied(mesh::Axis::x, rows));
      B_ = Blocks(setup.fabric, Placement::plain(rows, Partition::even(n, setup.fabric.mesh().width)));
      a_cyclic_ = CyclicMatrix(setup.grid, {n, 1}, block);
      B_cyclic_ = CyclicMatrix(setup.grid, {n, n}, block);
      c_cyclic_ = CyclicMatrix(setup.grid, {1, n}, block);
      fill(B_, seed, right_stream);
      fill(B_cyclic_, seed, right_stream);
      fill(a_cyclic_, seed, left_stream);
      fill(a_, seed, left_stream);  // (1, n) where the other is (n, 1): the same numbers
    });
  }
  void ours() override { c_ = ops::mesh_gemv(setup_.fabric, mesh::Axis::y, lines_, a_, B_); }
  void theirs() override { multiply_vector(a_cyclic_, B_cyclic_, c_cyclic_); }
  double disagreement() const override {
    return difference(setup_, c_, c_cyclic_, norms(setup_.world(), a_cyclic_, Side::columns),
                      norms(setup_.world(), B_cyclic_, Side::columns));
  }

private:
  const Setup& setup_;
  fabric::AllReduce lines_;
  Blocks a_, B_, c_;
  CyclicMatrix a_cyclic_, B_cyclic_, c_cyclic_;
};

}  // namespace wafer::bench
