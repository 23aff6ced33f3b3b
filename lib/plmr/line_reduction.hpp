#pragma once

#include <memory>
#include <span>
#include <vector>

#include "mesh/ktree.hpp"
#include "mesh/tiling.hpp"
#include "plmr/execution.hpp"

namespace wafer::plmr {

struct LineStreams;

/// Neighbouring lines of the mesh that reduce the same stretch of places.
struct LineGroup {
  mesh::Range lines;
  Index origin = 0;  // place of the tree's place 0 on the line
  const mesh::ReductionTree* tree = nullptr;
  std::vector<Index> reduce_words;  // (lines) of the streams towards the root
  std::vector<Index> result_words;  // (lines) of the multicast; none: the result stays at the root
  /// Kept by reduce_lines() for the next time: an object stays with its device, axis, origin and tree.
  mutable std::shared_ptr<const LineStreams> streams = nullptr;
};

/// The clocks of a K-tree all-reduce: level by level, both sides of a chain run at once and the root takes
/// the high side, then the low side, as two streams; then the root multicasts upwards, then downwards, and
/// every core receives at its own distance. A stage (receive, combine, send on) is cut-through: it costs its
/// latency, and the next core starts on the first word. Lines without words send nothing.
/// Source: WaferLLM (OSDI 2025), section 6; semantics fitted to a real WSE-3 (docs/model.md).
void reduce_lines(Execution& execution, mesh::Axis axis, std::span<const LineGroup> groups);

/// A stream of words[line] from the core at `root` of each line, first to the higher places of `stretch`,
/// then to the lower ones.
void multicast_lines(Execution& execution, mesh::Axis axis, mesh::Range lines, mesh::Range stretch,
                     Index root, std::span<const Index> words);

/// The same on whole lines where every core takes part in one multicast after another, from changing roots,
/// each at `device.multicast`. Routes are not counted.
void multicast_in_turn(Execution& execution, mesh::Axis axis, Index root, std::span<const Index> words);

/// Static paths through the router of a tree's final root: one in and one out for every level's chains, and
/// the multicast.
Index tree_routes(const mesh::ReductionTree& tree, bool multicast);

}  // namespace wafer::plmr
