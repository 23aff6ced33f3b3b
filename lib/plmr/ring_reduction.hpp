#pragma once

#include <functional>
#include <vector>

#include "mesh/tiling.hpp"
#include "plmr/execution.hpp"

namespace wafer::plmr {

/// Neighbouring lines of the mesh whose cores [origin, origin + cores) all-reduce along their rings.
struct RingReduction {
  mesh::Range lines;
  Index origin = 0;
  Index cores = 0;
  std::vector<Index> lengths;              // (lines) numbers that each core adds
  std::function<Index(Index n)> words_of;  // 32-bit words of n numbers
};

/// The clocks of a ring all-reduce: cores - 1 rounds in which every core hands a chunk of the sums on and
/// adds its own to the one that arrives, then as many in which the finished chunks go round. A round is an
/// asynchronous shift that nothing hides. Source: WaferLLM (OSDI 2025), section 6.1; Luczynski et al., HPDC
/// 2024.
void ring_reduce(Execution& execution, mesh::Axis axis, const RingReduction& reduction);

}  // namespace wafer::plmr
