#include "fabric/blocks.hpp"

#include <algorithm>

#include "fabric/tilings.hpp"

using namespace wafer;
using fabric::Blocks, fabric::Fabric, fabric::Placement;
using mesh::Axis, mesh::Mesh;
using test::world;

namespace {

const std::vector<Mesh> meshes = {{1, 1}, {1, 4}, {2, 3}, {5, 5}, {7, 5}};

// Blocks of odd sizes, some of them empty.
std::vector<Placement> placements(const Fabric& fabric) {
  const Index height = fabric.mesh().height;
  const Index width = fabric.mesh().width;
  const Partition over_blocks = Partition::even(3, fabric.queues().blocks());
  return {Placement::plain(Partition::even(11, height), test::dealt(4, width)),
          Placement::turned(Partition::even(4, width), Partition::even(11, height)),
          Placement::queued_left(fabric.queues(), Partition::even(11, height), over_blocks),
          Placement::queued_right(fabric.queues(), over_blocks, Partition::even(7, width)),
          Placement::copied(Axis::x, Partition::even(5, height)),
          Placement::copied(Axis::y, Partition::even(3, width)),
          Placement::on_first_core({3, 5})};
}

template <class F>
void for_each_block(const Placement& placement, F f) {
  for (Index i = 0; i < placement.rows().parts(); ++i)
    for (Index j = 0; j < placement.cols().parts(); ++j) f(i, j);
}

}  // namespace

TEST_CASE("a block is on the rank of its home, and a copied one on every rank of its line", "[fabric]") {
  for (const Mesh mesh : meshes)
    test::on_every_tiling(mesh, [](const Fabric& fabric) {
      for (const Placement& placement : placements(fabric)) {
        const Blocks blocks(fabric, placement);
        for_each_block(placement, [&](Index i, Index j) {
          const bool lies_here = placement.lies_in(fabric.tile(), i, j);
          const auto ranks = world().sum(std::int64_t{lies_here ? 1 : 0});
          CHECK((placement.copied_along() ? ranks >= 1 : ranks == 1));
          CHECK(blocks.here(i, j) == (lies_here || placement.block_shape(i, j).size() == 0));
        });
      }
    });
}

TEST_CASE("blocks begin aligned, do not overlap, are zero at first, and empty ones have a place",
          "[fabric]") {
  for (const Mesh mesh : meshes)
    for (const DType type : {DType::f32, DType::bf16})
      test::on_every_tiling(mesh, [type](const Fabric& fabric) {
        for (const Placement& placement : placements(fabric)) {
          const Blocks blocks(fabric, placement, type);
          const std::byte* end = nullptr;
          std::size_t bytes = 0;
          for_each_block(placement, [&](Index i, Index j) {
            if (!placement.lies_in(fabric.tile(), i, j)) return;
            const std::byte* block = blocks.raw(i, j);
            const std::size_t size = at(placement.block_shape(i, j).size()) * size_of(type);
            CHECK(blocks.block_bytes(i, j) == size);
            CHECK(reinterpret_cast<std::uintptr_t>(block) % block_alignment == 0);
            CHECK((end == nullptr || block >= end));
            CHECK(std::all_of(block, block + size, [](std::byte b) { return b == std::byte{0}; }));
            CHECK(blocks.typed(i, j).shape == placement.block_shape(i, j));
            end = block + size;
            bytes += aligned(size);
          });
          CHECK(blocks.bytes() == bytes);
        }
      });
}

TEST_CASE("a block that visits can be used until it leaves", "[fabric]") {
  test::on_every_tiling({2, 3}, [](const Fabric& fabric) {
    Blocks blocks(fabric, Placement::plain(Partition::even(2, 2), Partition::even(3, 3)));
    std::vector<float> memory = {7.0F};
    for_each_block(blocks.placement(), [&](Index i, Index j) {
      if (blocks.here(i, j)) return;
      blocks.admit(i, j, reinterpret_cast<std::byte*>(memory.data()));
      CHECK(blocks.here(i, j));
      CHECK(blocks(i, j)(0, 0) == 7.0F);
      blocks.dismiss(i, j);
      CHECK_FALSE(blocks.here(i, j));
    });
  });
}

TEST_CASE("the cores of all tiles are those of the mesh, each once, on any number of threads", "[fabric]") {
  for (const Mesh mesh : meshes)
    test::on_every_tiling(mesh, [](const Fabric& fabric) {
      std::vector<double> visits(at(fabric.mesh().cores()), 0.0);
      fabric.for_cores([&](mesh::CoreCoord core) { visits[at(core.y * fabric.mesh().width + core.x)] += 1; });
      world().sum(visits);
      CHECK(visits == std::vector<double>(visits.size(), 1.0));
    });
}

TEST_CASE("an exception of a core reaches the caller, on any number of threads", "[fabric]") {
  test::on_every_tiling({7, 5}, [](const Fabric& fabric) {
    CHECK_THROWS_WITH(fabric.parallel(9,
                                      [](Index k) {
                                        if (k == 5) throw std::runtime_error("core 5");
                                      }),
                      "core 5");
  });
}
