#pragma once

#include <vector>

#include "mesh/queue.hpp"
#include "plmr/execution.hpp"

namespace wafer::plmr {

/// The shapes of a product whose operands are multicast: row y has rows[y] rows of A and C, block l has
/// blocks[l] of the contraction, column x has columns[x] columns of B and C.
struct MulticastProduct {
  std::vector<Index> rows;     // (H)
  std::vector<Index> blocks;   // (number of blocks)
  std::vector<Index> columns;  // (W)
};

/// The clocks of SUMMA: for every block, a multicast along each row from the column that holds it, one along
/// each column from the row that holds it, then the local product. A multicast whose root changes from step
/// to step costs every core `device.multicast`, and its words; nothing waits for the farthest core, so a step
/// costs the same on every grid, as on a real WSE-2 (docs/model.md).
void summa_product(Execution& execution, const mesh::QueuePlan& queues, const MulticastProduct& product);

/// The clocks of an allgather of both operands by the same multicasts, and of one product of whole rows and
/// columns.
void allgather_product(Execution& execution, const mesh::QueuePlan& queues, const MulticastProduct& product);

}  // namespace wafer::plmr
