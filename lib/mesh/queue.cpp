#include "mesh/queue.hpp"

#include <algorithm>
#include <numeric>

#include "core/error.hpp"

namespace wafer::mesh {

QueueLine::QueueLine(Ring ring, Index blocks)
    : ring_(ring), blocks_(blocks), offsets_(part_offsets(blocks, ring.size())), place_of_slot_(at(blocks)) {
  WAFER_CHECK(blocks >= ring.size(), "every core hosts at least one block");
  for (Index p = 0; p < ring.size(); ++p)
    for (Index slot = offsets_[at(p)]; slot < offsets_[at(p) + 1]; ++slot)
      place_of_slot_[at(slot)] = ring_.place_of({p});
}

Index contraction_blocks(Mesh mesh) { return std::max(mesh.height, mesh.width); }
Index lcm_blocks(Mesh mesh) { return std::lcm(mesh.height, mesh.width); }

}  // namespace wafer::mesh
