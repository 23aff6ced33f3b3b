#pragma once

#include "mesh/queue.hpp"
#include "ops/gemm.hpp"

namespace wafer::ops {

/// Every core gathers all blocks of its mesh row of A and of its mesh column of B, and then multiplies.
///
/// Cost: as many multicasts along either axis as it has blocks, then the product at once. A core's memory
/// grows with the whole contraction: O(1 / N) of the matrices. Source: WaferLLM (OSDI 2025), section 5.1.
class AllgatherGemm : public Gemm {
public:
  explicit AllgatherGemm(const fabric::Fabric& fabric);
  fabric::Placement right(const Partition& contraction, const Partition& cols) const override;
  fabric::Blocks multiply(const fabric::Blocks& A, fabric::Blocks& B, const Partition& cols) const override;

private:
  const fabric::Fabric* fabric_;
  mesh::QueuePlan queues_;
};

}  // namespace wafer::ops
