#include "fabric/placement.hpp"

#include <utility>

#include "core/error.hpp"

namespace wafer::fabric {

using mesh::Axis, mesh::CoreCoord;

Placement::Placement(Partition rows, Partition cols, Home home, std::optional<Axis> copied_along)
    : rows_(std::move(rows)), cols_(std::move(cols)), home_(std::move(home)), copied_along_(copied_along) {}

Placement Placement::plain(Partition rows, Partition cols) {
  return {std::move(rows), std::move(cols), [](Index i, Index j) { return CoreCoord{i, j}; }};
}

Placement Placement::turned(Partition rows, Partition cols) {
  return {std::move(rows), std::move(cols), [](Index i, Index j) { return CoreCoord{j, i}; }};
}

Placement Placement::queued_left(const mesh::QueuePlan& queues, Partition rows, Partition blocks) {
  Placement left(std::move(rows), std::move(blocks), [queues](Index y, Index block) {
    return CoreCoord{y, queues.x.place_of_block(block)};
  });
  left.queued_ = true;
  return left;
}

Placement Placement::queued_right(const mesh::QueuePlan& queues, Partition blocks, Partition cols) {
  Placement right(std::move(blocks), std::move(cols), [queues](Index block, Index x) {
    return CoreCoord{queues.y.holder(block, queues.skew_y(x)), x};
  });
  right.queued_ = true;
  return right;
}

Placement Placement::copied(Axis axis, Partition parts) {
  static const Partition row = Partition::even(1, 1);  // made once: decode asks for this at every operator
  return {row, std::move(parts), [axis](Index, Index line) { return mesh::core_at(axis, line, 0); }, axis};
}

Placement Placement::on_first_core(Shape shape) {
  return {Partition::even(shape.rows, 1), Partition::even(shape.cols, 1), [](Index, Index) {
            return CoreCoord{0, 0};
          }};
}

bool Placement::lies_in(const mesh::Tile& tile, Index i, Index j) const {
  const CoreCoord core = home(i, j);
  if (!copied_along_) return tile.contains(core);
  return tile.cores() > 0 && tile.lines(*copied_along_).contains(mesh::line_of(*copied_along_, core));
}

Partition contraction_blocks(const mesh::QueueLine& line, const Partition& cols) {
  WAFER_CHECK(cols.parts() == line.cores(), "one part a core");
  std::vector<std::vector<Index>> lists(at(line.blocks()));
  for (Index place = 0; place < line.cores(); ++place) {
    const auto indices = cols.indices(place);
    const auto cuts = part_offsets(cols.size(place), line.slots(place));
    for (Index slot = 0; slot < line.slots(place); ++slot) {
      const auto piece = indices.subspan(at(cuts[at(slot)]), at(cuts[at(slot) + 1] - cuts[at(slot)]));
      lists[at(line.first_slot(place) + slot)].assign(piece.begin(), piece.end());
    }
  }
  return Partition::of_lists(lists);
}

}  // namespace wafer::fabric
