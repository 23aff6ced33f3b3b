#include "fabric/multicast.hpp"

#include <algorithm>

#include "fabric/tilings.hpp"

using namespace wafer;
using fabric::Fabric, fabric::Multicast;
using mesh::Axis, mesh::Mesh, mesh::Range;

namespace {

// Every part of a line from every source in it, with lengths 0, 1, 2 …
std::vector<Multicast> jobs_of(const Mesh& mesh, Axis axis) {
  std::vector<Multicast> jobs;
  for (Index line = 0; line < mesh.lines(axis); ++line)
    for (Index begin = 0; begin < mesh.length(axis); ++begin)
      for (Index end = begin + 1; end <= mesh.length(axis); ++end)
        for (Index source = begin; source < end; ++source)
          jobs.push_back({line, {begin, end}, source, static_cast<Index>(jobs.size()) % 4});
  return jobs;
}

bool overlap(Range a, Range b) { return a.begin < b.end && b.begin < a.end; }

void check(const Fabric& fabric, Axis axis) {
  const mesh::Tile& tile = fabric.tile();
  std::vector<Multicast> jobs;
  std::vector<std::vector<float>> expected, memory;
  std::uint64_t stream = 0;
  for (const Multicast& job : jobs_of(fabric.mesh(), axis)) {
    ++stream;
    if (!tile.lines(axis).contains(job.line) || !overlap(tile.places(axis), job.places)) continue;
    jobs.push_back(job);
    expected.push_back(test::normals(job.length, stream));
    memory.push_back(tile.places(axis).contains(job.source) ? expected.back()
                                                            : std::vector<float>(at(job.length), -77.0F));
  }
  fabric::multicast(fabric, axis, jobs, [&](Index job) { return std::span(memory[at(job)]); });
  CHECK(memory == expected);
}

}  // namespace

TEST_CASE("a multicast reaches every rank that shares its places, whatever the tiling", "[fabric]") {
  for (const Mesh mesh : {Mesh{1, 1}, Mesh{1, 4}, Mesh{2, 3}, Mesh{5, 5}, Mesh{7, 5}})
    for (const Axis axis : {Axis::x, Axis::y})
      test::on_every_tiling(mesh, [axis](const Fabric& fabric) { check(fabric, axis); });
}
