#pragma once

#include <functional>
#include <span>

#include "fabric/fabric.hpp"
#include "mesh/ktree.hpp"

namespace wafer::fabric {

/// A two-sided chain of one line: `length` numbers travel from both ends to the root.
struct ChainJob {
  Index line = 0;
  Index origin = 0;  // place of the chain's place 0 on the line
  const mesh::Chain* chain = nullptr;
  Index length = 0;
};

/// What the cores of a reduction do. Calls for different jobs may come from different threads.
struct Reduction {
  /// The own value of the core at `place`: written to `room` and that returned, or where it lies already.
  std::function<std::span<const float>(Index job, Index place, std::span<float> room)> value;
  /// sum = sum (+) other.
  std::function<void(std::span<const float> other, std::span<float> sum)> combine;
  /// Where the root's result goes. Called on the root's rank only.
  std::function<std::span<float>(Index job)> result;
};

/// Reduces every job to its root: receive, add, send from core to core; the root starts from its own value,
/// then adds the side of the higher members, then that of the lower ones. The order is that of the chain, so
/// the bits are the same however the line is tiled. One message per pair of ranks and side. As on the wafer,
/// every core's own value is there before the sum comes by, so ranks work on theirs at the same time; those
/// of a chain that begins on another rank are all in memory until then.
///
/// Collective among the ranks that share lines along `axis`: each gives the jobs of its tile's lines, in the
/// same order.
void reduce_chains(const Fabric& fabric, mesh::Axis axis, std::span<const ChainJob> jobs,
                   const Reduction& reduction);

}  // namespace wafer::fabric
