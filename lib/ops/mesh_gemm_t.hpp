#pragma once

#include <functional>

#include "fabric/visits.hpp"
#include "plmr/rotating_product.hpp"

namespace wafer::ops {

/// A mesh of its own: all rows of some neighbouring columns.
struct RunMesh {
  RunMesh(Index height, mesh::Range run) : columns(run), queues(mesh::Mesh{height, run.size()}) {}
  /// The columns that a tile shares with the run; empty where there are none.
  mesh::Range shared(const mesh::Tile& tile) const;
  /// The column on which block l of a row's result stays.
  Index owner(Index block) const { return columns.begin + queues.x.place_of_block(block); }

  mesh::Range columns;
  mesh::QueuePlan queues;
};

/// What one core has to add in a step: the product of its A with block `block` of B on its column, written to
/// `own`.
using PartialProduct = std::function<void(mesh::CoreCoord core, Index block, std::span<float> own)>;

/// The loop of MeshGEMM-T on a run: B goes round every column's ring, unaligned; at each step the cores of a
/// row multiply the block at the front, and a two-sided chain along the row adds the partial products on the
/// block's owner.
///
/// @param B   block (l, column of the run), at rest where the column's unshifted slot l is
/// @param C   block (y, l), on the owner of l; written
/// @param alive  whether (row, block) is needed at all; B's blocks go round all the same
/// Collective among the ranks that share the run.
/// Cost: max(height, width of the run) steps, each one B block over at most two hops and one C block along
/// the row. Source: WaferLLM (OSDI 2025), section 5.4.
void mesh_gemm_t_loop(const fabric::Fabric& fabric, const RunMesh& run, fabric::Blocks& B, fabric::Blocks& C,
                      const PartialProduct& product,
                      const std::function<bool(Index row, Index block)>& alive);

/// The shapes of such a product on a run: `heads` of it, rows and blocks a head, depth its columns of B.
plmr::RotatingProduct rotating_product(const RunMesh& run, Index heads, const Partition& rows,
                                       const Partition& blocks, const Partition& depth,
                                       std::function<bool(Index row, Index block)> alive);

/// C = A B^T over the whole mesh without a transpose.
///
/// @param A (M, K)  plain
/// @param B (N, K)  mesh_gemm_t_right: rows in blocks over the columns' rings, columns as A's
/// @return  (M, N)  block (y, l) has the indices of B's row block l
/// Collective.
fabric::Blocks mesh_gemm_t(const fabric::Fabric& fabric, const fabric::Blocks& A, fabric::Blocks& B);

/// Where mesh_gemm_t wants its right operand, of `rows` rows.
fabric::Placement mesh_gemm_t_right(const fabric::Fabric& fabric, Index rows, const Partition& contraction);

/// Blocks (l, column of the run) at rest: row block l where the column's unshifted slot l is.
fabric::Placement at_rest_on_columns(const RunMesh& run, Partition rows, Partition cols);

/// Blocks (y, l) on the owners of their l.
fabric::Placement on_owners(const RunMesh& run, Partition rows, Partition blocks);

/// The visits of blocks that go round the columns of a run without skew.
fabric::Visits column_visits(const fabric::Fabric& fabric, const RunMesh& run, fabric::Blocks& B);

}  // namespace wafer::ops
