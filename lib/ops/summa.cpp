#include "ops/summa.hpp"

#include "core/error.hpp"
#include "ops/contraction.hpp"
#include "plmr/multicast_product.hpp"

namespace wafer::ops {

using fabric::Blocks, fabric::Fabric, fabric::Placement;

Summa::Summa(const Fabric& fabric) : fabric_(&fabric), queues_(fabric.mesh(), mesh::Ring::Order::natural) {}

Placement Summa::right(const Partition& contraction, const Partition& cols) const {
  return unskewed_right(queues_, contraction, cols);
}

Blocks Summa::multiply(const Blocks& A_at_rest, Blocks& B, const Partition& cols) const {
  const Partition blocks = fabric::contraction_blocks(queues_.x, A_at_rest.placement().cols());
  WAFER_CHECK(B.placement().rows() == blocks, "block l of B has the indices of block l of A");
  const Partition& rows = A_at_rest.placement().rows();
  const plmr::Operator charged(fabric_->execution(), "summa");
  const fabric::Lease received(*fabric_, plmr::Memory::buffers, [&](mesh::CoreCoord core) {
    return (rows.size(core.y) + cols.size(core.x)) * blocks.largest();
  });
  Blocks A = cut_over_slots(*fabric_, queues_, A_at_rest, blocks);
  Blocks C = Blocks::to_write(*fabric_, Placement::plain(rows, cols));
  if (fabric_->execution() != nullptr)
    plmr::summa_product(*fabric_->execution(), queues_, {rows.sizes(), blocks.sizes(), cols.sizes()});
  add_in_order(*fabric_, A, B, C);
  return C;
}

}  // namespace wafer::ops
