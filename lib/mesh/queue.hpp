#pragma once

#include <vector>

#include "mesh/ring.hpp"

namespace wafer::mesh {

/// The queues of one line of cores: `blocks` blocks go round its ring, and the core at ring position p hosts
/// slots [first(p), first(p + 1)). On an H x W mesh both axes carry max(H, W) blocks, so a line that is
/// shorter than that has cores with several slots; only the front one takes part in a step.
///
/// Example, 3 blocks on 2 cores: position 0 hosts slots 0 and 1, position 1 slot 2.
class QueueLine {
public:
  QueueLine(Ring ring, Index blocks);

  Index blocks() const { return blocks_; }
  Index cores() const { return ring_.size(); }
  const Ring& ring() const { return ring_; }

  /// The first slot of the core at a physical place, and how many it has.
  Index first_slot(Index place) const { return offsets_[at(ring_.position_of(place).value)]; }
  Index slots(Index place) const {
    return offsets_[at(ring_.position_of(place).value) + 1] - first_slot(place);
  }

  /// The place whose slots contain a block while the line is not shifted.
  Index place_of_block(Index block) const { return place_of_slot_[at(block)]; }

  /// The place that holds a block after the line was shifted forward `shift` times: slot s then holds s +
  /// shift.
  Index holder(Index block, Index shift) const { return place_of_block(wrap(block - shift, blocks_)); }

  /// The block at the front of a place's queue after `shift` forward shifts.
  Index front(Index place, Index shift) const { return wrap(first_slot(place) + shift, blocks_); }

private:
  Ring ring_;
  Index blocks_;
  std::vector<Index> offsets_;        // (cores + 1) first slot of each ring position
  std::vector<Index> place_of_slot_;  // (blocks)
};

/// Contraction blocks of an H x W mesh: max(H, W).
Index contraction_blocks(Mesh mesh);
/// What the paper takes instead: lcm(H, W), which moves the same words in more steps.
Index lcm_blocks(Mesh mesh);

/// The queues of a mesh's rows (`x`) and columns (`y`), with the skew that MeshGEMM aligns them by.
///
/// Aligned, slot s of row y holds block s + skew_x(y) of A and slot s of column x holds block s + skew_y(x)
/// of B, so that at step t core (y, x) has the same block, block_at(core, t), at the front of both of its
/// queues. Source: WaferLLM (OSDI 2025), section 5.3, carried over to any H x W.
struct QueuePlan {
  explicit QueuePlan(Mesh mesh, Ring::Order order = Ring::Order::interleaved)
      : QueuePlan(mesh, order, contraction_blocks(mesh)) {}
  /// @pre blocks >= max(H, W)
  QueuePlan(Mesh mesh, Ring::Order order, Index blocks)
      : x(Ring(mesh.width, order), blocks), y(Ring(mesh.height, order), blocks) {}

  Index blocks() const { return x.blocks(); }
  Index skew_x(Index row) const { return y.first_slot(row); }
  Index skew_y(Index column) const { return x.first_slot(column); }
  Index block_at(CoreCoord core, Index step) const {
    return wrap(x.first_slot(core.x) + y.first_slot(core.y) + step, blocks());
  }

  QueueLine x;  // of every row
  QueueLine y;  // of every column
};

}  // namespace wafer::mesh
