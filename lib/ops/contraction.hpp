#pragma once

#include "fabric/bulk.hpp"
#include "mesh/queue.hpp"

// What the GEMMs that cut their contraction into blocks have in common.
namespace wafer::ops {

/// A's columns cut over the slots of their cores: block (y, l) is a run of columns of A(y, x), where x holds
/// slot l. Where every core has one slot, without copies: `A` must outlive the result.
/// @param blocks contraction_blocks(queues.x, A's columns)
fabric::Blocks cut_over_slots(const fabric::Fabric& fabric, const mesh::QueuePlan& queues,
                              const fabric::Blocks& A, const Partition& blocks);

/// B's blocks lie where the column's slots are, without skew.
fabric::Placement unskewed_right(const mesh::QueuePlan& queues, const Partition& contraction,
                                 const Partition& cols);

/// C (M, N) = A B where at step s every core needs block s of its mesh row of A and of its mesh column of B.
/// @param A cut_over_slots()   @param B unskewed_right()   Collective.
void add_in_order(const fabric::Fabric& fabric, fabric::Blocks& A, fabric::Blocks& B, fabric::Blocks& C);

}  // namespace wafer::ops
