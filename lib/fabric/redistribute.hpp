#pragma once

#include "fabric/blocks.hpp"

namespace wafer::fabric {

/// Copies every element of `from` to wherever `to` wants it: any two placements, on the same mesh or on two
/// meshes that share the ranks. Where `from` has copies, the first rank that has one sends. One message per
/// pair of ranks.
///
/// @pre equal shapes and types   Collective: every rank calls it.
void redistribute(const Fabric& from_fabric, const Blocks& from, const Fabric& to_fabric, Blocks& to);

/// The whole matrix at rank 0, row after row; empty on the other ranks, and where the fabric is dry. For
/// looking at it: the wafer is not charged. Collective.
std::vector<float> gather(const Fabric& fabric, const Blocks& matrix);

/// Fills `matrix` from the whole one at rank 0 (row-major; ignored on the other ranks). The wafer is not
/// charged. Collective.
void scatter(const Fabric& fabric, std::span<const float> whole, Blocks& matrix);

}  // namespace wafer::fabric
