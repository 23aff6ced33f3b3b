#pragma once

#include "fabric/blocks.hpp"

namespace wafer::ops {

/// X += Y, block by block; equal placements. Local to every core.
void add(const fabric::Fabric& fabric, const fabric::Blocks& Y, fabric::Blocks& X);

/// X += bias on every row of a plain matrix, or on a vector; `bias` is whole, empty for none. Local to every
/// core.
void add_bias(const fabric::Fabric& fabric, std::span<const float> bias, fabric::Blocks& X);

/// silu(gate) up of a matrix or vector whose parts are [gate | up]. Local to every core.
///
/// @param placement of the result: half as wide
fabric::Blocks silu_product(const fabric::Fabric& fabric, const fabric::Blocks& gate_up,
                            fabric::Placement placement);

}  // namespace wafer::ops
