#include "ops/mesh_gemm.hpp"

#include <array>

#include "core/error.hpp"
#include "ops/contraction.hpp"
#include "ops/products.hpp"
#include "plmr/ring_product.hpp"

namespace wafer::ops {

using fabric::Blocks, fabric::Fabric, fabric::Placement, fabric::Use, fabric::Visits;
using mesh::CoreCoord;

namespace {

Visits left_visits(const Fabric& fabric, const mesh::QueuePlan& queues, Blocks& A) {
  const Index steps = queues.blocks();
  return {fabric, A, steps, fabric::chunk_of(steps), [&queues](const mesh::Tile& tile) {
            return fabric::rotation_uses(
                queues.x, tile.columns, tile.rows, [&](Index y) { return queues.skew_x(y); },
                [](Index y, Index block, Index first, Index last) {
                  return Use{y, block, first, last};
                });
          }};
}

Visits right_visits(const Fabric& fabric, const mesh::QueuePlan& queues, Blocks& B) {
  const Index steps = queues.blocks();
  return {fabric, B, steps, fabric::chunk_of(steps), [&queues](const mesh::Tile& tile) {
            return fabric::rotation_uses(
                queues.y, tile.rows, tile.columns, [&](Index x) { return queues.skew_y(x); },
                [](Index x, Index block, Index first, Index last) {
                  return Use{block, x, first, last};
                });
          }};
}

// The block that arrives on either axis while the one before is used.
fabric::Lease arriving(const Fabric& fabric, const Partition& rows, const Partition& blocks,
                       const Partition& cols) {
  const Index widest = blocks.largest();
  return {fabric, plmr::Memory::buffers,
          [&](CoreCoord core) { return (rows.size(core.y) + cols.size(core.x)) * widest; }};
}

}  // namespace

Placement MeshGemm::right(const Partition& contraction, const Partition& cols) const {
  return Placement::queued_right(queues_, fabric::contraction_blocks(queues_.x, contraction), cols);
}

Blocks MeshGemm::multiply(const Blocks& A_at_rest, Blocks& B, const Partition& cols) const {
  const Partition blocks = fabric::contraction_blocks(queues_.x, A_at_rest.placement().cols());
  WAFER_CHECK(B.placement().rows() == blocks, "block l of B has the indices of block l of A");
  const Partition& rows = A_at_rest.placement().rows();
  const plmr::Operator charged(fabric_->execution(), name_);
  const fabric::Lease buffers = arriving(*fabric_, rows, blocks, cols);
  Blocks A = cut_over_slots(*fabric_, queues_, A_at_rest, blocks);
  Blocks C = Blocks::to_write(*fabric_, Placement::plain(rows, cols));
  if (fabric_->execution() != nullptr)
    plmr::ring_product(*fabric_->execution(), queues_, {rows.sizes(), blocks.sizes(), cols.sizes()});

  std::array<Visits, 2> shifts = {left_visits(*fabric_, queues_, A), right_visits(*fabric_, queues_, B)};
  const mesh::Tile& tile = fabric_->tile();
  const ProductSteps products{tile.rows, tile.columns, queues_.blocks(),  // the fronts of both queues
                              [this](Index y) { return queues_.skew_x(y); },
                              [this](Index x) { return queues_.skew_y(x); }};
  fabric::run_chunks(*fabric_, queues_.blocks(), shifts,
                     [&](mesh::Range steps) { multiply_steps(*fabric_, A, B, C, products, steps); });
  return C;
}

}  // namespace wafer::ops
