#pragma once

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "mesh/queue.hpp"
#include "plmr/device.hpp"

namespace wafer::plmr {

/// A line of cores in its ring's order: position p hands its block to p - 1 and gets that of p + 1.
struct RingLine {
  /// @param origin place of the line's first core on the mesh
  RingLine(const Device& device, const mesh::QueueLine& queue, mesh::Axis axis, Index origin = 0) {
    const Index n = queue.cores();
    for (Index p = 0; p < n; ++p) places.push_back(queue.ring().place_of({p}));
    for (Index p = 0; p < n; ++p) {
      const Index from = places[at((p + 1) % n)];
      first_slot.push_back(queue.first_slot(places[at(p)]));
      latency.push_back(device.latency(axis, origin + from, origin + places[at(p)]));
      hops.push_back(std::abs(from - places[at(p)]));
      longest = std::max(longest, hops.back());
      all_hops += hops.back();
    }
  }
  Index size() const { return static_cast<Index>(places.size()); }
  bool moves() const { return size() > 1; }

  std::vector<Index> places;
  std::vector<Index> first_slot;  // while the line is not shifted
  std::vector<Ticks> latency;     // of the message that position p gets, before its words
  std::vector<Index> hops;        // of it
  Index longest = 0;
  Index all_hops = 0;
};

}  // namespace wafer::plmr
