#pragma once

#include "fabric/blocks.hpp"

namespace wafer::ops {

/// The index of the largest of the logits, the lowest such index where several are equal; parts without
/// elements never win.
///
/// @param logits (V)  part x on the core (root_row, x)
/// Collective; every rank gets the id. Cost: one all-reduce along the root row of (value, id), one multicast.
Index argmax(const fabric::Fabric& fabric, const fabric::Blocks& logits, Index root_row);

}  // namespace wafer::ops
