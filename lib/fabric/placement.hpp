#pragma once

#include <functional>
#include <optional>

#include "mesh/queue.hpp"
#include "mesh/tiling.hpp"
#include "tensor/partition.hpp"

namespace wafer::fabric {

/// Which core holds which block of a matrix. The matrix is cut by a partition of its rows and one of its
/// columns; block (i, j) has the indices of row part i and column part j and lies at the core home(i, j), or
/// on every core of that core's line along `copied_along`. Cheap to copy.
class Placement {
public:
  using Home = std::function<mesh::CoreCoord(Index i, Index j)>;
  Placement() = default;
  Placement(Partition rows, Partition cols, Home home, std::optional<mesh::Axis> copied_along = std::nullopt);

  /// Rows over the mesh's rows, columns over its columns: L_y E_x.
  static Placement plain(Partition rows, Partition cols);
  /// Rows over the mesh's columns, columns over its rows: what decode's W_O and W_down need.
  static Placement turned(Partition rows, Partition cols);
  /// A MeshGEMM's left operand at rest: rows over the mesh's rows, contraction block l where the row's
  /// unshifted slot l is.
  static Placement queued_left(const mesh::QueuePlan& queues, Partition rows, Partition blocks);
  /// A MeshGEMM's right operand, aligned: contraction block l of column x where slot l of the skewed column
  /// is.
  static Placement queued_right(const mesh::QueuePlan& queues, Partition blocks, Partition cols);
  /// A vector whose part k is the same on every core of line k along `axis`; (1, n).
  static Placement copied(mesh::Axis axis, Partition parts);
  /// The whole matrix at core (0, 0), from where it leaves the wafer.
  static Placement on_first_core(Shape shape);

  const Partition& rows() const { return rows_; }
  const Partition& cols() const { return cols_; }
  Shape shape() const { return {rows_.length(), cols_.length()}; }
  Shape block_shape(Index i, Index j) const { return {rows_.size(i), cols_.size(j)}; }
  mesh::CoreCoord home(Index i, Index j) const { return home_(i, j); }
  std::optional<mesh::Axis> copied_along() const { return copied_along_; }
  /// Whether the blocks are made to visit other cores: queued_left() and queued_right().
  bool queued() const { return queued_; }

  /// Whether a block, or a copy of it, lies in a tile.
  bool lies_in(const mesh::Tile& tile, Index i, Index j) const;

private:
  Partition rows_;
  Partition cols_;
  Home home_;
  std::optional<mesh::Axis> copied_along_;
  bool queued_ = false;
};

/// The contraction blocks of a matrix whose columns are cut over the mesh's columns by `cols`: every column's
/// indices are cut over its slots. Block l of the other operand has exactly the same indices.
Partition contraction_blocks(const mesh::QueueLine& line, const Partition& cols);

}  // namespace wafer::fabric
