#pragma once

#include "mesh/queue.hpp"
#include "ops/gemm.hpp"

namespace wafer::ops {

/// SUMMA: at step s the column that holds block s of A multicasts it along the rows, the row that holds block
/// s of B along the columns, and every core adds the product.
///
/// Cost: max(height, width) steps, each two multicasts across the mesh; a second block of either operand.
/// Routes: every core is a root once. Source: van de Geijn and Watts (1997); WaferLLM (OSDI 2025),
/// section 5.1.
class Summa : public Gemm {
public:
  explicit Summa(const fabric::Fabric& fabric);
  fabric::Placement right(const Partition& contraction, const Partition& cols) const override;
  fabric::Blocks multiply(const fabric::Blocks& A, fabric::Blocks& B, const Partition& cols) const override;

private:
  const fabric::Fabric* fabric_;
  mesh::QueuePlan queues_;
};

}  // namespace wafer::ops
