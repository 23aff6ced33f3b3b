#pragma once

#include "mesh/mesh.hpp"

namespace wafer::mesh {

/// INTERLEAVE: a ring folded on a line of n cores so that every neighbour in the ring is at most two hops
/// away, which is the least possible. n = 5: 0 -> 2 -> 4 -> 3 -> 1 -> 0. For n = 1 the only core is its own
/// partner, for n = 2 the cores swap. Source: WaferLLM (OSDI 2025), Algorithm 1.
struct RingPartners {
  Index send = 0;     ///< the place that core i sends to
  Index receive = 0;  ///< the place that core i receives from
};
RingPartners interleave(Index place, Index n);

/// Closed form of the ring's order: where core `place` stands in it. Core i receives from the core one
/// position further.
RingPos interleaved_position(Index place, Index n);

/// Inverse of interleaved_position.
Index interleaved_place(RingPos position, Index n);

}  // namespace wafer::mesh
