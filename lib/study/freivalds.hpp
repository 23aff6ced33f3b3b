#pragma once

#include <cstdint>

#include "fabric/blocks.hpp"

namespace wafer::study {

/// Freivalds' check of a product on the mesh: C r against A (B r) in double, for fixed random r of +-1.
///
/// @param A (M, K)   @param B (K, N), or (N, K) with `transposed`   @param C (M, N)   float32, without copies
/// @return the worst row's error as a share of four roundings of |a_i| |B|, the 2-norm of A's row and the
/// Frobenius norm of B. Products of random numbers reach about a tenth; a wrong element shows as far more
/// than 1; NaN stays NaN. Collective. Cost: O(M K + K N + M N).
double freivalds(const fabric::Fabric& fabric, const fabric::Blocks& A, const fabric::Blocks& B,
                 const fabric::Blocks& C, bool transposed);

/// A number that depends on every element's place and bits, and not on how the matrix lies on ranks.
/// Collective.
std::uint64_t hash_of(const fabric::Fabric& fabric, const fabric::Blocks& matrix);

}  // namespace wafer::study
