#pragma once

#include "mesh/queue.hpp"
#include "ops/gemm.hpp"

namespace wafer::ops {

/// C = A B over the whole mesh by cyclic shifts along two rings, on any height x width: MeshGEMM where the
/// rings are interleaved, Cannon's algorithm where they are natural.
///
/// Cost: at most NB / 2 rounds to align A, then NB = max(height, width) steps, each one A block and one B
/// block over at most two hops (Cannon: across the mesh, at the wrap); every core adds its NB products in the
/// order of its place. Source: WaferLLM (OSDI 2025), section 5.3; queues for meshes that are not square.
class MeshGemm : public Gemm {
public:
  explicit MeshGemm(const fabric::Fabric& fabric) : MeshGemm(fabric, fabric.queues(), "mesh_gemm") {}
  /// @param name that the ledger knows it by
  MeshGemm(const fabric::Fabric& fabric, mesh::QueuePlan queues, const char* name)
      : fabric_(&fabric), queues_(std::move(queues)), name_(name) {}
  fabric::Placement right(const Partition& contraction, const Partition& cols) const override;
  fabric::Blocks multiply(const fabric::Blocks& A, fabric::Blocks& B, const Partition& cols) const override;

private:
  const fabric::Fabric* fabric_;
  mesh::QueuePlan queues_;
  const char* name_;
};

}  // namespace wafer::ops
