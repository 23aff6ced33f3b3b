#pragma once

#include <functional>
#include <span>

#include "fabric/fabric.hpp"

namespace wafer::fabric {

/// Numbers that lie at one core of a line and go to the cores of `places`.
struct Multicast {
  Index line = 0;
  mesh::Range places;
  Index source = 0;  // a place on the line
  Index length = 0;
};

/// Hands each job's numbers from its source's rank to the other ranks that share its places, once to each.
///
/// @param memory of a job on this rank: where its numbers lie at the source, and where they go elsewhere
/// Collective among the ranks that share lines along `axis`: each gives the jobs of its tile's lines whose
/// places it shares, in the same order. Charges nothing.
void multicast(const Fabric& fabric, mesh::Axis axis, std::span<const Multicast> jobs,
               const std::function<std::span<float>(Index job)>& memory);

}  // namespace wafer::fabric
