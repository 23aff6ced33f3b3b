// Closed forms of reductions on a mesh whose software costs nothing: Luczynski et al., HPDC 2024
// (arXiv 2404.15888).
#include <cmath>

#include "plmr/line_reduction.hpp"
#include "plmr/ring_product.hpp"
#include "plmr/rotating_product.hpp"
#include "support/catch.hpp"

using wafer::at, wafer::Index;
using namespace wafer::plmr;
using wafer::mesh::Axis, wafer::mesh::KTree, wafer::mesh::QueuePlan, wafer::mesh::Ring;

namespace {

constexpr Ticks cycle = ticks_per_cycle;

Device bare_device() {
  Device device;
  device.word = cycle;
  device.ramp = 2 * cycle;
  device.hop = cycle;
  device.stream_packet_bytes = 4;
  device.memory_word_bytes = 4;
  device.vector_elements_32 = 1 << 20;  // a cycle for any block
  return device;
}

// Cycles of a chain from the last core of a row to its first: the only block of a MeshGEMM-T that is alive
// stays there. The product has no depth, but one cycle for clearing its result.
double chain(Index cores, Index words, double hop = 1) {
  Device device = bare_device();
  device.hop = std::llround(hop * static_cast<double>(cycle));
  Execution execution(device, {1, cores}, {.element_bytes = 4});
  const QueuePlan queues({1, cores}, Ring::Order::natural);
  const RotatingProduct product{{0, cores},
                                1,
                                {1},
                                std::vector<Index>(at(cores), words),
                                std::vector<Index>(at(cores), 0),
                                [](Index, Index block) { return block == 0; }};
  scores_product(execution, queues, product);
  return to_cycles(execution.now()) - 1;
}

double broadcast(Index cores, Index words) {
  Execution execution(bare_device(), {1, cores}, {});
  multicast_lines(execution, Axis::x, {0, 1}, {0, cores}, 0, std::vector<Index>{words});
  return to_cycles(execution.now());
}

double reduction(Index cores, Index levels, Index groups, Index words) {
  Execution execution(bare_device(), {1, cores}, {});
  const KTree tree(cores, levels, groups);
  const LineGroup group{{0, 1}, 0, &tree, {words}, {}};
  reduce_lines(execution, Axis::x, std::span(&group, 1));
  return to_cycles(execution.clocks()[at(tree.root())]);
}

// The later of the far side, as a chain of its own, and the near one behind it.
double two_sided(Index cores, Index words, double hop = 1) {
  const Index root = cores / 2;
  const auto w = static_cast<double>(words);
  const auto arrives = [&](Index stages) { return static_cast<double>(stages) * (5 + hop); };
  const Index above = cores - 1 - root;
  const double high = above > 0 ? arrives(above) + w : 0;
  return root > 0 ? std::max(high, arrives(root)) + w : high;
}

}  // namespace

TEST_CASE("a chain to the end of a row takes its closed form", "[plmr]") {
  CHECK(chain(64, 1) == 379);
  CHECK(chain(64, 256) == 634);
  CHECK(chain(512, 1) == 3067);
  CHECK(chain(512, 64) == 3130);
  CHECK(chain(512, 256) == 3322);
}

TEST_CASE("a broadcast from the end of a row takes its closed form", "[plmr]") {
  CHECK(broadcast(64, 1) == 69);
  CHECK(broadcast(64, 256) == 324);
  CHECK(broadcast(512, 1) == 517);
  CHECK(broadcast(512, 64) == 580);
  CHECK(broadcast(512, 256) == 772);
}

TEST_CASE("a two-phase reduction to the end of a row takes its closed form", "[plmr]") {
  CHECK(chain(8, 1) + chain(8, 1, 8) == 135);
  const double uneven = chain(24, 1) + chain(22, 1, 512.0 / 22);  // the largest group, then the groups
  CHECK(std::abs(uneven / 733 - 1) < 0.01);
}

TEST_CASE("a two-sided chain takes the longer of its sides, but no two streams at once", "[plmr]") {
  for (Index cores = 1; cores <= 40; ++cores)
    for (const Index words : {1, 7, 300}) {
      CAPTURE(cores, words);
      CHECK(reduction(cores, 1, 0, words) == two_sided(cores, words));
    }
}

TEST_CASE("a K-tree of even groups takes a chain in its groups, then one over their roots", "[plmr]") {
  for (const Index group : {1, 2, 3, 8})
    for (const Index groups : {1, 2, 5, 8}) {
      CAPTURE(group, groups);
      CHECK(reduction(group * groups, 2, groups, 1) ==
            two_sided(group, 1) + two_sided(groups, 1, static_cast<double>(group)));
    }
}

TEST_CASE("a step of a MeshGEMM without products costs two hops, however large the mesh", "[plmr]") {
  for (const Index cores : {3, 4, 9, 64, 101}) {
    Execution execution(bare_device(), {cores, cores}, {.element_bytes = 4});
    const std::vector<Index> ones(at(cores), 1);
    ring_product(execution, QueuePlan({cores, cores}), {ones, ones, ones, Align::none});
    CAPTURE(cores);
    CHECK(to_cycles(execution.now()) <= 1 + static_cast<double>(cores * (5 + 2 + 1)));
    CHECK(to_cycles(execution.now()) >= 1 + static_cast<double>(cores * (5 + 2 + 1)) - 8);
  }
}
