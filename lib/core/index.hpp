#pragma once

#include <cstddef>
#include <vector>

namespace wafer {

/// Signed, so that differences and downward loops need no care.
using Index = std::ptrdiff_t;

/// For subscripts of standard containers.
constexpr std::size_t at(Index index) { return static_cast<std::size_t>(index); }

/// a mod n in [0, n), for any a.
constexpr Index wrap(Index a, Index n) { return ((a % n) + n) % n; }

/// Offsets of part(length, parts): parts + 1 numbers from 0 to length, the first length mod parts parts one
/// longer. Parts may be empty.
std::vector<Index> part_offsets(Index length, Index parts);
/// Their sizes.
std::vector<Index> part_sizes(Index length, Index parts);

}  // namespace wafer
