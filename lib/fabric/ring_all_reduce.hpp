#pragma once

#include "fabric/all_reduce.hpp"

namespace wafer::fabric {

/// A segment that this rank shares, by its number in the all-reduce.
struct RingSegment {
  Index number = 0;
  Segment cores;
};

/// The sums of a ring all-reduce: the numbers are cut into as many chunks as the segment has cores; chunk c
/// starts at ring position c - 1 and goes round against the positions, every core adding its own, to position
/// c. From there every rank of the segment gets it, or, without `multicast`, the rank of the segment's root.
///
/// Collective among the ranks that share lines along `axis`: each gives the segments that its tile shares, in
/// the same order.
void ring_all_reduce(const Fabric& fabric, mesh::Axis axis, std::span<const RingSegment> segments,
                     const AllReduceWork& work, bool multicast);

/// Where a ring's result is wanted when it is wanted at one core.
inline Index ring_root(Index cores) { return cores / 2; }

}  // namespace wafer::fabric
