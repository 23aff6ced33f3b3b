#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/error.hpp"
#include "core/random.hpp"
#include "fabric/blocks.hpp"

// ScaLAPACK and its BLACS come without headers, so what we call is declared here: the C interface of the
// BLACS, and Fortran routines, whose names end in _ and whose arguments are all pointers. Integers are 32
// bits wide. The lengths of the one-letter texts, which Fortran would pass last, are not read: PBLAS is C
// inside. NOLINTBEGIN(readability-identifier-naming)
extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* row, int* column);
void Cblacs_gridexit(int context);
int numroc_(const int* n, const int* block, const int* process, const int* source, const int* processes);
void descinit_(int* descriptor, const int* m, const int* n, const int* row_block, const int* column_block,
               const int* row_source, const int* column_source, const int* context, const int* leading,
               int* info);
void psgemm_(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k,
             const float* alpha, const float* a, const int* ia, const int* ja, const int* desc_a,
             const float* b, const int* ib, const int* jb, const int* desc_b, const float* beta, float* c,
             const int* ic, const int* jc, const int* desc_c);
void psgemv_(const char* trans, const int* m, const int* n, const float* alpha, const float* a, const int* ia,
             const int* ja, const int* desc_a, const float* x, const int* ix, const int* jx,
             const int* desc_x, const int* inc_x, const float* beta, float* y, const int* iy, const int* jy,
             const int* desc_y, const int* inc_y);
}
// NOLINTEND(readability-identifier-naming)

namespace wafer::bench {

/// All ranks as a BLACS grid, row after row: the place that mesh::Tiling gives them too. MPI is initialised
/// before, and ended by who did that.
class ProcessGrid {
public:
  /// @param shape rows x columns of ranks: as many as there are   Collective.
  explicit ProcessGrid(mesh::Mesh shape) {
    Cblacs_get(-1, 0, &context_);
    Cblacs_gridinit(&context_, "Row", static_cast<int>(shape.height), static_cast<int>(shape.width));
    Cblacs_gridinfo(context_, &rows_, &columns_, &row_, &column_);
    WAFER_CHECK(rows_ == shape.height && columns_ == shape.width && row_ >= 0, "every rank is in the grid");
  }
  ~ProcessGrid() { Cblacs_gridexit(context_); }
  ProcessGrid(const ProcessGrid&) = delete;
  ProcessGrid& operator=(const ProcessGrid&) = delete;

  int context() const { return context_; }
  int rows() const { return rows_; }
  int columns() const { return columns_; }
  int row() const { return row_; }
  int column() const { return column_; }

private:
  int context_ = 0;
  int rows_ = 0, columns_ = 0, row_ = 0, column_ = 0;
};

/// One part for each process: blocks of indices dealt out in turn.
inline Partition block_cyclic(Index length, Index block, Index processes) {
  std::vector<std::vector<Index>> lists(at(processes));
  for (Index i = 0; i < length; ++i) lists[at(i / block % processes)].push_back(i);
  return Partition::of_lists(lists);
}

/// A matrix as ScaLAPACK wants it: square blocks dealt out over the grid, each process' part column-major.
class CyclicMatrix {
public:
  CyclicMatrix() = default;
  CyclicMatrix(const ProcessGrid& grid, Shape shape, Index block)
      : rows_(block_cyclic(shape.rows, block, grid.rows())),
        cols_(block_cyclic(shape.cols, block, grid.columns())),
        row_(grid.row()),
        column_(grid.column()) {
    const int m = static_cast<int>(shape.rows), n = static_cast<int>(shape.cols);
    const int size = static_cast<int>(block), first = 0, context = grid.context();
    const int height = grid.rows(), width = grid.columns(), y = grid.row(), x = grid.column();
    WAFER_CHECK(local().rows == numroc_(&m, &size, &y, &first, &height) &&
                    local().cols == numroc_(&n, &size, &x, &first, &width),
                "ScaLAPACK deals as block_cyclic does");
    const int leading = static_cast<int>(leading_dimension());
    int info = 0;
    descinit_(descriptor_.data(), &m, &n, &size, &size, &first, &first, &context, &leading, &info);
    WAFER_CHECK(info == 0, "descinit_ takes the arguments");
    // Aligned as our blocks are; a process without elements has an address all the same.
    memory_ = AlignedBuffer(at(leading_dimension() * (local().cols + 1)) * sizeof(float));
  }

  const Partition& rows() const { return rows_; }
  const Partition& cols() const { return cols_; }
  Shape shape() const { return {rows_.length(), cols_.length()}; }
  /// Elements of this process.
  Shape local() const { return {rows_.size(row_), cols_.size(column_)}; }
  float* data() const { return reinterpret_cast<float*>(memory_.data()); }
  const int* descriptor() const { return descriptor_.data(); }

  /// Calls f(row, column, value) for this process' elements; the indices are those of the whole matrix.
  template <class F>
  void for_elements(F f) const {
    const auto rows = rows_.indices(row_), cols = cols_.indices(column_);
    for (Index c = 0; c < local().cols; ++c)
      for (Index r = 0; r < local().rows; ++r)
        f(rows[at(r)], cols[at(c)], data()[c * leading_dimension() + r]);
  }

private:
  Index leading_dimension() const { return local().rows > 0 ? local().rows : 1; }

  Partition rows_, cols_;
  Index row_ = 0, column_ = 0;
  std::array<int, 9> descriptor_{};
  AlignedBuffer memory_;
};

/// C = A B.
inline void multiply(const CyclicMatrix& A, const CyclicMatrix& B, CyclicMatrix& C) {
  const int m = static_cast<int>(C.shape().rows), n = static_cast<int>(C.shape().cols);
  const int k = static_cast<int>(A.shape().cols), first = 1;
  const float one = 1.0F, zero = 0.0F;
  psgemm_("N", "N", &m, &n, &k, &one, A.data(), &first, &first, A.descriptor(), B.data(), &first, &first,
          B.descriptor(), &zero, C.data(), &first, &first, C.descriptor());
}

/// c = a B as c = B^T a.
///
/// @param a (K, 1) over the first process column   @param c (1, N) over the first process row: where B's rows
/// and columns lie, so that neither vector has to be dealt out anew
inline void multiply_vector(const CyclicMatrix& a, const CyclicMatrix& B, CyclicMatrix& c) {
  const int k = static_cast<int>(B.shape().rows), n = static_cast<int>(B.shape().cols), first = 1;
  const int along_column = 1, along_row = 1;  // the latter is c's number of rows, by which PBLAS tells
  const float one = 1.0F, zero = 0.0F;
  psgemv_("T", &k, &n, &one, B.data(), &first, &first, B.descriptor(), a.data(), &first, &first,
          a.descriptor(), &along_column, &zero, c.data(), &first, &first, c.descriptor(), &along_row);
}

}  // namespace wafer::bench
