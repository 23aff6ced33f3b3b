#pragma once

#include "ops/products.hpp"

namespace wafer::ops {

/// multiply_steps() where blocks are small, in an order of the emulator's own: a group of cores goes through
/// many steps at a time, so that what it needs stays in cache. Their blocks of A and B are copied side by
/// side, so that a core's steps are one product; and columns of cores that are narrower than the processor's
/// vectors like are multiplied together, where they have the same blocks. A core sums many steps, in their
/// order, before it adds them to C: rounding errors grow with the steps that are summed at once. Which
/// columns those are, and where a product is cut, does not depend on the rectangle.
void multiply_small(const fabric::Fabric& fabric, const fabric::Blocks& A, const fabric::Blocks& B,
                    fabric::Blocks& C, const ProductSteps& products, mesh::Range steps);

}  // namespace wafer::ops
