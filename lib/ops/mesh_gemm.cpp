#include "ops/mesh_gemm.hpp"

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "fabric/bulk.hpp"
#include "kernels/gemm.hpp"
#include "plmr/ring_product.hpp"

namespace wafer::ops {

using fabric::Blocks, fabric::Fabric, fabric::Placement, fabric::Use, fabric::Visits;
using mesh::CoreCoord;

namespace {

// A's blocks cut over the slots of their cores: A(y, l) is a run of columns of A(y, x), where x holds slot l.
Blocks into_queues(const Fabric& fabric, const Blocks& A, const Partition& blocks) {
  const auto& row = fabric.queues().x;
  Blocks queued(fabric, Placement::queued_left(fabric.queues(), A.placement().rows(), blocks), DType::f32,
                std::nullopt);
  fabric.for_cores([&](CoreCoord core) {
    const auto block = A(core.y, core.x);
    Index column = 0;
    for (Index slot = 0; slot < row.slots(core.x); ++slot) {
      const auto part = queued(core.y, row.first_slot(core.x) + slot);
      for (Index m = 0; m < part.rows(); ++m)
        std::copy_n(block.row(m).begin() + column, part.cols(), part.row(m).begin());
      column += part.cols();
    }
  });
  return queued;
}

Visits left_visits(const Fabric& fabric, Blocks& A, Index steps) {
  const auto& queues = fabric.queues();
  return {fabric, A, steps, fabric::chunk_of(steps), [&queues](const mesh::Tile& tile) {
            return fabric::rotation_uses(
                queues.x, tile.columns, tile.rows, [&](Index y) { return queues.skew_x(y); },
                [](Index y, Index block, Index first, Index last) {
                  return Use{y, block, first, last};
                });
          }};
}

Visits right_visits(const Fabric& fabric, Blocks& B, Index steps) {
  const auto& queues = fabric.queues();
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

Placement mesh_gemm_right(const Fabric& fabric, const Partition& contraction, const Partition& cols) {
  return Placement::queued_right(fabric.queues(), fabric::contraction_blocks(fabric.queues().x, contraction),
                                 cols);
}

Blocks mesh_gemm(const Fabric& fabric, const Blocks& A_at_rest, Blocks& B) {
  const auto& queues = fabric.queues();
  const Partition blocks = fabric::contraction_blocks(queues.x, A_at_rest.placement().cols());
  WAFER_CHECK(B.placement().rows() == blocks, "block l of B has the indices of block l of A");
  const Partition& rows = A_at_rest.placement().rows();
  const Partition& cols = B.placement().cols();
  const plmr::Operator charged(fabric.execution(), "mesh_gemm");
  const fabric::Lease buffers = arriving(fabric, rows, blocks, cols);
  Blocks A = into_queues(fabric, A_at_rest, blocks);
  Blocks C(fabric, Placement::plain(rows, cols));
  if (fabric.execution() != nullptr)
    plmr::ring_product(*fabric.execution(), queues, {rows.sizes(), blocks.sizes(), cols.sizes()});

  const Index steps = queues.blocks();
  std::array<Visits, 2> shifts = {left_visits(fabric, A, steps), right_visits(fabric, B, steps)};
  fabric::run_bulk(fabric, steps, shifts, [&](CoreCoord core, Index step) {
    const Index block = queues.block_at(core, step);  // at the front of both queues
    kernels::gemm(A(core.y, block), B.typed(block, core.x), C(core.y, core.x), kernels::Output::add);
  });
  return C;
}

}  // namespace wafer::ops
