#include "ops/contraction.hpp"

#include <algorithm>
#include <array>

#include "ops/products.hpp"

namespace wafer::ops {

using fabric::Blocks, fabric::Fabric, fabric::Placement, fabric::Use, fabric::Visits;
using mesh::CoreCoord;

Blocks cut_over_slots(const Fabric& fabric, const mesh::QueuePlan& queues, const Blocks& A,
                      const Partition& blocks) {
  Placement queued = Placement::queued_left(queues, A.placement().rows(), blocks);
  if (queues.blocks() == queues.x.cores()) {  // a block a core: only named otherwise
    Blocks same = Blocks::unfilled(fabric, std::move(queued), DType::f32);
    fabric.without_threads().for_cores(
        [&](CoreCoord core) { same.admit(core.y, queues.x.first_slot(core.x), A.raw(core.y, core.x)); });
    return same;
  }
  Blocks cut = Blocks::to_write(fabric, std::move(queued), std::nullopt);
  fabric.for_cores([&](CoreCoord core) {
    const auto block = A(core.y, core.x);
    Index column = 0;
    for (Index slot = 0; slot < queues.x.slots(core.x); ++slot) {
      const auto part = cut(core.y, queues.x.first_slot(core.x) + slot);
      for (Index m = 0; m < part.rows(); ++m)
        std::copy_n(block.row(m).begin() + column, part.cols(), part.row(m).begin());
      column += part.cols();
    }
  });
  return cut;
}

Placement unskewed_right(const mesh::QueuePlan& queues, const Partition& contraction, const Partition& cols) {
  return {fabric::contraction_blocks(queues.x, contraction), cols, [queues](Index block, Index x) {
            return CoreCoord{queues.y.place_of_block(block), x};
          }};
}

void add_in_order(const Fabric& fabric, Blocks& A, Blocks& B, Blocks& C) {
  const Index steps = B.placement().rows().parts();
  const Index chunk = fabric::chunk_of(steps);
  const auto every_step = [steps](mesh::Range lines, auto use_of) {
    std::vector<Use> uses;
    uses.reserve(at(lines.size() * steps));
    for (Index line = lines.begin; line < lines.end; ++line)
      for (Index s = 0; s < steps; ++s) uses.push_back(use_of(line, s));
    return uses;
  };
  std::array<Visits, 2> visits = {
      Visits(fabric, A, steps, chunk,
             [&](const mesh::Tile& tile) {
               return every_step(tile.rows, [](Index y, Index s) { return Use{y, s, s, s}; });
             }),
      Visits(fabric, B, steps, chunk, [&](const mesh::Tile& tile) {
        return every_step(tile.columns, [](Index x, Index s) { return Use{s, x, s, s}; });
      })};
  const auto no_skew = [](Index) { return Index{0}; };
  const ProductSteps products{fabric.tile().rows, fabric.tile().columns, steps, no_skew, no_skew};
  fabric::run_chunks(fabric, steps, visits,
                     [&](mesh::Range some) { multiply_steps(fabric, A, B, C, products, some); });
}

}  // namespace wafer::ops
