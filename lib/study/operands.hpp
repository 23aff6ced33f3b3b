#pragma once

#include <cstdint>

#include "fabric/blocks.hpp"

namespace wafer::study {

/// Sets every element of a matrix, or of a vector and its copies, to a number in [-1, 1) that depends on
/// (seed, stream) and on the element's row and column alone. Every rank fills its own blocks.
void fill(fabric::Blocks& matrix, std::uint64_t seed, std::uint64_t stream);

/// Largest error of c = a B, against double precision, as a share of its rounding bound k eps sum |a b|;
/// infinite where c is not a number. Collective. Cost: O(k n).
///
/// @param a (k) copied along X   @param B (k, n) plain   @param c (n) copied along Y
double gemv_error(const fabric::Fabric& fabric, const fabric::Blocks& a, const fabric::Blocks& B,
                  const fabric::Blocks& c);

}  // namespace wafer::study
