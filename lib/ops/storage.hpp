#pragma once

#include "fabric/blocks.hpp"

namespace wafer::ops {

/// Rounds what an operator stores to the values that `type` has; the blocks stay float32 in this program's
/// memory. Nothing for float32. Local to every core; part of the operator that stores, so nothing is charged.
void store_as(const fabric::Fabric& fabric, DType type, fabric::Blocks& X);

}  // namespace wafer::ops
