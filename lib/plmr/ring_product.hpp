#pragma once

#include <vector>

#include "mesh/queue.hpp"
#include "plmr/execution.hpp"

namespace wafer::plmr {

/// How many rounds the left operand is shifted along X before the first step of a MeshGEMM.
enum class Align {
  none,      ///< it still is, from the product before
  shortest,  ///< what each row needs, in the direction in which it needs less
  half,      ///< floor(W / 2) rounds on every row: the authors' code
};

/// The shapes of a MeshGEMM: row y has rows[y] rows of A and C, block l has blocks[l] of the contraction,
/// column x has columns[x] columns of B and C.
struct RingProduct {
  std::vector<Index> rows;     // (H)
  std::vector<Index> blocks;   // (max(H, W))
  std::vector<Index> columns;  // (W)
  Align align = Align::shortest;
};

/// The clocks of a MeshGEMM: alignment rounds that nothing hides, then one step for every block, in which a
/// core posts the shifts of A along X and of B along Y, multiplies meanwhile, and waits for both. All blocks
/// go the whole way round, so both operands end where they began.
///
/// Where all blocks are alike and all cores advanced by the same in one step, every later step does, too: it
/// is added, not run. Source: WaferLLM (OSDI 2025), section 5.3; step costs fitted to a real WSE-3 and to the
/// paper's WSE-2 tables (docs/model.md).
void ring_product(Execution& execution, const mesh::QueuePlan& queues, const RingProduct& product);

/// The same on a region of the mesh, which the queues are of, from `origin`; nobody enters an operator.
void ring_product_in(Execution& execution, const mesh::QueuePlan& queues, mesh::CoreCoord origin,
                     const RingProduct& product);

/// Static paths a router needs for the shifts along one axis: its own, its neighbour's, and one that passes.
Index ring_routes(Index cores);

}  // namespace wafer::plmr
