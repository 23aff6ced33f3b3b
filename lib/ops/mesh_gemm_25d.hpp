#pragma once

#include "mesh/queue.hpp"
#include "ops/gemm.hpp"

namespace wafer::ops {

/// 2.5D MeshGEMM with c replicas: the mesh is cut into c = rows x columns equal regions (fewer where it has
/// fewer lines; cores beyond them idle). Each region runs a MeshGEMM of the whole M x N result over its share
/// of the contraction: N / c^1.5 steps on N x N cores; then the regions' results are added.
///
/// Cost: redistribution of A, max(h, w) / regions steps on regions of h x w cores, a chain of C blocks along
/// either axis, redistribution of C. Memory: C is as many times larger a core as there are regions. Source:
/// Solomonik and Demmel, Euro-Par 2011, carried over to a mesh in two dimensions; on a wafer it has not been
/// published.
class MeshGemm25d : public Gemm {
public:
  MeshGemm25d(const fabric::Fabric& fabric, mesh::Mesh regions);
  fabric::Placement right(const Partition& contraction, const Partition& cols) const override;
  fabric::Blocks multiply(const fabric::Blocks& A, fabric::Blocks& B, const Partition& cols) const override;

private:
  using CoreCoord = mesh::CoreCoord;
  Index regions() const { return across_.height * across_.width; }
  CoreCoord origin(Index region) const {
    return {region / across_.width * queues_.y.cores(), region % across_.width * queues_.x.cores()};
  }
  CoreCoord core(Index region, Index i, Index j) const {
    return {origin(region).y + i, origin(region).x + j};
  }
  /// The region that adds the others' results.
  CoreCoord home() const { return {across_.height / 2, across_.width / 2}; }
  /// Contraction blocks: the regions' shares one after the other.
  Partition blocks(Index length) const { return Partition::even(length, regions() * queues_.blocks()); }
  fabric::Blocks products(const Partition& rows, fabric::Blocks& A, fabric::Blocks& B) const;
  fabric::Blocks sum(const Partition& rows, const fabric::Blocks& partial) const;
  void charge_sum(const Partition& rows, const Partition& cols) const;

  const fabric::Fabric* fabric_;
  mesh::Mesh across_;       // regions along either axis
  mesh::QueuePlan queues_;  // of a region
};

}  // namespace wafer::ops
