#pragma once

#include <vector>

#include "plmr/ring_line.hpp"
#include "plmr/ring_rows.hpp"

// The steps of a MeshGEMM whose blocks come in two sizes, for ring_product.cpp.
namespace wafer::plmr {

struct NarrowRing {
  const RingLine& x;
  const RingLine& y;
  const std::vector<const RowCosts*>&
      tables;  // (H) by ring position: costs where all blocks had a size, (2, W)
  const std::vector<std::ptrdiff_t>& sizes;  // (2 steps) which size the blocks have, twice over
  const std::vector<Index>& slots;           // (W + 1) first slot of each position; the last is 0 again
  Ticks post;
  bool rendezvous;
  Index steps;
};

/// Runs steps from the first on, on clocks (H, W + 2) in ring order whose first and last column are free, and
/// returns how many: all, unless the clocks are too far apart for 32 bits.
Index run_narrow(const NarrowRing& ring, std::vector<Ticks>& clocks);

}  // namespace wafer::plmr
