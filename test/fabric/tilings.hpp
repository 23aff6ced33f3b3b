#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/random.hpp"
#include "fabric/fabric.hpp"
#include "fabric/redistribute.hpp"
#include "support/catch.hpp"

namespace wafer::test {

/// All ranks of this test.
inline const fabric::Communicator& world() {
  static const fabric::Communicator communicator = fabric::Communicator::world();
  return communicator;
}

/// f(fabric) for the mesh cut over all ranks in every way, some of which leave ranks without a core, on one
/// thread and on three. Not called for a mesh with fewer cores than ranks.
template <class F>
void on_every_tiling(mesh::Mesh mesh, F f) {
  const int ranks = world().size();
  if (mesh.cores() < ranks) return;
  for (int rows = 1; rows <= ranks; ++rows)
    for (const int threads : {1, 3}) {
      if (ranks % rows != 0) continue;
      const mesh::Mesh grid{rows, ranks / rows};
      CAPTURE(mesh::to_string(mesh), mesh::to_string(grid), threads);
      f(fabric::Fabric(world(), mesh::Tiling(mesh, ranks, grid), threads));
    }
}

/// f(fabric) for the whole mesh on the calling rank alone: what every tiling has to agree with.
template <class F>
auto on_one_rank(mesh::Mesh mesh, F f) {
  const auto self = world().split(world().rank().value, 0);
  return f(fabric::Fabric(self, mesh::Tiling(mesh, 1)));
}

/// How many numbers of a result, gathered at rank 0, have other bits than expected; the same on every rank.
inline std::int64_t differing(const std::vector<float>& gathered, const std::vector<float>& expected) {
  std::int64_t count = 0;
  if (world().is_root() && gathered.size() != expected.size())
    count = std::numeric_limits<std::int64_t>::max();
  else if (world().is_root())
    for (std::size_t k = 0; k < gathered.size(); ++k)
      count += std::bit_cast<std::uint32_t>(gathered[k]) != std::bit_cast<std::uint32_t>(expected[k]) ? 1 : 0;
  return world().max(count);
}

/// Standard normal numbers, the same on every rank.
inline std::vector<float> normals(Index count, std::uint64_t stream) {
  const Random random(17, stream);
  std::vector<float> values(at(count));
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = random.normal(k);
  return values;
}

/// A matrix on the mesh from the whole one, row-major. Collective.
inline fabric::Blocks placed(const fabric::Fabric& fabric, fabric::Placement placement,
                             const std::vector<float>& whole) {
  fabric::Blocks matrix(fabric, std::move(placement));
  fabric::scatter(fabric, whole, matrix);
  return matrix;
}

/// The parts of 0 .. length-1 in which part p has every index that leaves p: none are neighbours.
inline Partition dealt(Index length, Index parts) {
  std::vector<std::vector<Index>> lists(at(parts));
  for (Index k = length - 1; k >= 0; --k) lists[at(k % parts)].push_back(k);
  return Partition::of_lists(lists);
}

}  // namespace wafer::test
