#include "ops/allgather_gemm.hpp"

#include "core/error.hpp"
#include "ops/contraction.hpp"
#include "plmr/multicast_product.hpp"

namespace wafer::ops {

using fabric::Blocks, fabric::Fabric, fabric::Placement;

AllgatherGemm::AllgatherGemm(const Fabric& fabric)
    : fabric_(&fabric), queues_(fabric.mesh(), mesh::Ring::Order::natural) {}

Placement AllgatherGemm::right(const Partition& contraction, const Partition& cols) const {
  return unskewed_right(queues_, contraction, cols);
}

Blocks AllgatherGemm::multiply(const Blocks& A_at_rest, Blocks& B, const Partition& cols) const {
  const Partition blocks = fabric::contraction_blocks(queues_.x, A_at_rest.placement().cols());
  WAFER_CHECK(B.placement().rows() == blocks, "block l of B has the indices of block l of A");
  const Partition& rows = A_at_rest.placement().rows();
  const plmr::Operator charged(fabric_->execution(), "allgather_gemm");
  const fabric::Lease gathered(*fabric_, plmr::Memory::buffers, [&](mesh::CoreCoord core) {
    return (rows.size(core.y) + cols.size(core.x)) * blocks.length();
  });
  Blocks A = cut_over_slots(*fabric_, queues_, A_at_rest, blocks);
  Blocks C = Blocks::to_write(*fabric_, Placement::plain(rows, cols));
  if (fabric_->execution() != nullptr)
    plmr::allgather_product(*fabric_->execution(), queues_, {rows.sizes(), blocks.sizes(), cols.sizes()});
  add_in_order(*fabric_, A, B, C);  // the emulator need not hold what the wafer's cores gather
  return C;
}

}  // namespace wafer::ops
