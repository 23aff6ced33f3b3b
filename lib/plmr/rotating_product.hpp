#pragma once

#include <functional>
#include <vector>

#include "mesh/queue.hpp"
#include "mesh/tiling.hpp"
#include "plmr/execution.hpp"

namespace wafer::plmr {

/// The shapes of a MeshGEMM-T on a run of columns, or of the product with its result that follows: for each
/// of `heads` heads, row y has rows[y] rows of the left operand, block l has blocks[l] rows of the one that
/// goes round the columns, column x of the run has depth[x] of its columns.
struct RotatingProduct {
  mesh::Range run;  // of columns
  Index heads = 1;
  std::vector<Index> rows;                          // (H)
  std::vector<Index> blocks;                        // (blocks of the run's queues)
  std::vector<Index> depth;                         // (columns of the run)
  std::function<bool(Index y, Index block)> alive;  // empty: all are
};

/// The clocks of S = A B^T: in each step a core posts the shift of B along Y, computes its partial block, and
/// takes part in a two-sided chain along X to the core where the block stays; then it waits for B. The chain
/// of the next step starts behind it, nothing waits for the whole row. Source: WaferLLM (OSDI 2025), 5.4.
void scores_product(Execution& execution, const mesh::QueuePlan& queues, const RotatingProduct& product);

/// The clocks of O = S B: in each step the owner of S's block multicasts it along the run, upwards, then
/// downwards, the cores add their products, and wait for B's shift along Y.
void values_product(Execution& execution, const mesh::QueuePlan& queues, const RotatingProduct& product);

}  // namespace wafer::plmr
