#include "fabric/placement.hpp"

#include "core/error.hpp"
#include "support/catch.hpp"

using namespace wafer;
using fabric::Placement;
using mesh::Axis, mesh::CoreCoord, mesh::Mesh, mesh::QueuePlan, mesh::Tile;

namespace {

const std::vector<Mesh> meshes = {{1, 1}, {1, 4}, {4, 1}, {2, 3}, {3, 2}, {5, 5}, {7, 5}};

}  // namespace

TEST_CASE("plain, turned and copied blocks lie where their names say", "[fabric]") {
  const Partition two = Partition::even(5, 2);
  const Partition three = Partition::even(7, 3);
  CHECK(Placement::plain(two, three).home(1, 2) == CoreCoord{1, 2});
  CHECK(Placement::turned(three, two).home(2, 1) == CoreCoord{1, 2});
  CHECK(Placement::copied(Axis::x, three).home(0, 2) == CoreCoord{2, 0});
  CHECK(Placement::copied(Axis::y, three).home(0, 2) == CoreCoord{0, 2});
  CHECK(Placement::on_first_core({5, 7}).home(0, 0) == CoreCoord{0, 0});
}

TEST_CASE("block shapes are the sizes of the parts", "[fabric]") {
  const Placement placement = Placement::plain(Partition::even(5, 3), Partition::even(2, 3));
  CHECK(placement.shape() == Shape{5, 2});
  CHECK(placement.block_shape(0, 0) == Shape{2, 1});
  CHECK(placement.block_shape(2, 0) == Shape{1, 1});
  CHECK(placement.block_shape(1, 2) == Shape{2, 0});
  CHECK(Placement::on_first_core({5, 7}).block_shape(0, 0) == Shape{5, 7});
  CHECK(Placement::copied(Axis::x, Partition::even(5, 3)).shape() == Shape{1, 5});
}

TEST_CASE("a copied block lies in every tile that its line crosses, and in no empty one", "[fabric]") {
  const Placement along_x = Placement::copied(Axis::x, Partition::even(6, 3));
  const Tile left{{0, 2}, {0, 1}};
  const Tile right{{0, 2}, {1, 3}};
  for (const Tile& tile : {left, right}) {
    CHECK(along_x.lies_in(tile, 0, 0));
    CHECK(along_x.lies_in(tile, 0, 1));
    CHECK_FALSE(along_x.lies_in(tile, 0, 2));
  }
  CHECK_FALSE(along_x.lies_in({{0, 2}, {3, 3}}, 0, 0));
  const Placement along_y = Placement::copied(Axis::y, Partition::even(6, 3));
  CHECK(along_y.lies_in(right, 0, 2));
  CHECK_FALSE(along_y.lies_in(left, 0, 2));
}

TEST_CASE("a left operand rests on the core whose slots its block belongs to", "[fabric]") {
  for (const Mesh mesh : meshes) {
    const QueuePlan queues(mesh);
    const Placement placement =
        Placement::queued_left(queues, Partition::even(9, mesh.height), Partition::even(9, queues.blocks()));
    for (Index y = 0; y < mesh.height; ++y)
      for (Index x = 0; x < mesh.width; ++x)
        for (Index slot = 0; slot < queues.x.slots(x); ++slot)
          CHECK(placement.home(y, queues.x.first_slot(x) + slot) == CoreCoord{y, x});
  }
}

TEST_CASE("an aligned right operand is at the front of every core's queue when the steps begin", "[fabric]") {
  for (const Mesh mesh : meshes) {
    const QueuePlan queues(mesh);
    const Placement placement =
        Placement::queued_right(queues, Partition::even(9, queues.blocks()), Partition::even(9, mesh.width));
    for (Index y = 0; y < mesh.height; ++y)
      for (Index x = 0; x < mesh.width; ++x)
        CHECK(placement.home(queues.block_at({y, x}, 0), x) == CoreCoord{y, x});
  }
}

TEST_CASE("the contraction blocks of a column are its indices, cut over its slots in order", "[fabric]") {
  for (const Mesh mesh : meshes) {
    const QueuePlan queues(mesh);
    std::vector<std::vector<Index>> lists(at(mesh.width));
    for (Index k = 12; k >= 0; --k) lists[at(k * k % mesh.width)].push_back(k);
    const Partition cols = Partition::of_lists(lists);
    const Partition blocks = fabric::contraction_blocks(queues.x, cols);
    CHECK(blocks.parts() == queues.blocks());
    for (Index x = 0; x < mesh.width; ++x) {
      std::vector<Index> joined;
      for (Index slot = 0; slot < queues.x.slots(x); ++slot)
        for (const Index k : blocks.indices(queues.x.first_slot(x) + slot)) joined.push_back(k);
      CHECK(joined == lists[at(x)]);
    }
  }
  CHECK_THROWS_AS(fabric::contraction_blocks(QueuePlan({2, 3}).x, Partition::even(5, 2)), InternalError);
}
