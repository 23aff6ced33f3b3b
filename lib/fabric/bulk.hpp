#pragma once

#include <algorithm>
#include <span>

#include "fabric/visits.hpp"

namespace wafer::fabric {

/// Steps per exchange of a bulk: a quarter of it, so that three quarters of the messages travel while others
/// are computed and little memory is lent out.
inline Index chunk_of(Index steps) { return std::max(Index{1}, (steps + 3) / 4); }

/// Executes a bulk in chunks of steps: calls work(range of steps) for each chunk, with the visiting blocks of
/// that chunk at hand, while those of the next are on their way. Collective among the ranks that share lines
/// of the mesh.
///
/// @param visits of the operands, all made with chunk_of(steps)
template <class Work>
void run_chunks(const Fabric& fabric, Index steps, std::span<Visits> visits, Work work) {
  if (fabric.dry()) return;
  const Index chunk = chunk_of(steps);
  const Index chunks = (steps + chunk - 1) / chunk;
  for (Visits& operand : visits) operand.start(0);
  for (Visits& operand : visits) operand.finish(0);
  for (Index k = 0; k < chunks; ++k) {
    const bool more = k + 1 < chunks;
    if (more)
      for (Visits& operand : visits) operand.start(k + 1);
    work(mesh::Range{k * chunk, std::min(steps, (k + 1) * chunk)});
    if (more)
      for (Visits& operand : visits) operand.finish(k + 1);
    for (Visits& operand : visits) operand.release(k);
  }
}

}  // namespace wafer::fabric
