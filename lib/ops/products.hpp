#pragma once

#include <functional>

#include "fabric/blocks.hpp"

namespace wafer::ops {

/// The products of a rectangle of cores: at step t the core of row i and column j adds A(i, l) B(l, j) to
/// C(first_row + i, j), where l = first_block + (skew_of_row(i) + skew_of_column(j) + t) mod blocks.
struct ProductSteps {
  mesh::Range rows, columns;  // i and j, those of this rank
  Index blocks = 0;           // that a core meets, one a step
  std::function<Index(Index i)> skew_of_row;
  std::function<Index(Index j)> skew_of_column;
  Index first_block = 0;
  Index first_row = 0;
};

/// Executes some steps of products. At step 0 a core sets its block of C, at later ones it adds to it, in the
/// order of its steps; the order among cores is the emulator's own.
///
/// @pre the blocks that the steps need are here
/// The same bits for every rectangle that a core may be in.
void multiply_steps(const fabric::Fabric& fabric, const fabric::Blocks& A, const fabric::Blocks& B,
                    fabric::Blocks& C, const ProductSteps& products, mesh::Range steps);

}  // namespace wafer::ops
