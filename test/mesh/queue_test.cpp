#include "mesh/queue.hpp"

#include <set>

#include "support/catch.hpp"

using wafer::Index;
using namespace wafer::mesh;

TEST_CASE("over all steps every core meets every block once, and its two fronts agree", "[mesh]") {
  for (const Mesh mesh :
       {Mesh{1, 1}, Mesh{1, 4}, Mesh{4, 1}, Mesh{2, 3}, Mesh{3, 2}, Mesh{5, 5}, Mesh{7, 5}, Mesh{8, 3}}) {
    const QueuePlan plan(mesh);
    CAPTURE(mesh.height, mesh.width);
    for (Index y = 0; y < mesh.height; ++y)
      for (Index x = 0; x < mesh.width; ++x) {
        std::set<Index> met;
        for (Index step = 0; step < plan.blocks(); ++step) {
          const Index block = plan.block_at({y, x}, step);
          CHECK(block == plan.x.front(x, plan.skew_x(y) + step));
          CHECK(block == plan.y.front(y, plan.skew_y(x) + step));
          met.insert(block);
        }
        CHECK(static_cast<Index>(met.size()) == plan.blocks());
      }
  }
}

TEST_CASE("a block is always held by exactly the core whose slots contain it", "[mesh]") {
  for (Index cores = 1; cores <= 9; ++cores)
    for (Index blocks = cores; blocks <= cores + 7; ++blocks) {
      const QueueLine line(Ring(cores), blocks);
      for (Index shift = 0; shift <= blocks; ++shift) {
        Index held = 0;
        for (Index place = 0; place < cores; ++place)
          for (Index slot = 0; slot < line.slots(place); ++slot) {
            CHECK(line.holder(wafer::wrap(line.front(place, shift) + slot, blocks), shift) == place);
            ++held;
          }
        CHECK(held == blocks);
      }
    }
}
