#include "fabric/visits.hpp"

#include <atomic>
#include <cstdint>
#include <set>

#include "fabric/bulk.hpp"
#include "fabric/tilings.hpp"

using namespace wafer;
using fabric::Blocks, fabric::Fabric, fabric::Placement, fabric::Use, fabric::Visits;
using mesh::CoreCoord, mesh::Mesh;

namespace {

const std::vector<Mesh> meshes = {{1, 1}, {1, 4}, {4, 1}, {2, 3}, {5, 5}, {7, 5}, {3, 8}};

// A left operand at rest whose block (y, l) holds the number of that block; some blocks are empty.
Blocks numbered(const Fabric& fabric, Index columns = 4) {
  const Partition cols = Partition::even(columns, fabric.mesh().width);
  Blocks A(fabric, Placement::queued_left(fabric.queues(),
                                          Partition::even(fabric.mesh().height, fabric.mesh().height),
                                          fabric::contraction_blocks(fabric.queues().x, cols)));
  for (Index y = 0; y < fabric.mesh().height; ++y)
    for (Index block = 0; block < fabric.queues().blocks(); ++block)
      if (A.here(y, block))
        for (float& value : A(y, block).row(0)) value = static_cast<float>(100 * y + block);
  return A;
}

std::vector<Use> uses_of_rows(const Fabric& fabric, const mesh::Tile& tile) {
  const auto& queues = fabric.queues();
  return fabric::rotation_uses(
      queues.x, tile.columns, tile.rows, [&](Index y) { return queues.skew_x(y); },
      [](Index y, Index block, Index first, Index last) {
        return Use{y, block, first, last};
      });
}

bool is_right(const Blocks& A, Index y, Index block) {
  if (A.shape(y, block).size() == 0) return true;
  if (!A.here(y, block)) return false;
  for (const float value : A(y, block).row(0))
    if (value != static_cast<float>(100 * y + block)) return false;
  return true;
}

std::int64_t visiting(const Fabric& fabric, const Blocks& A) {
  std::int64_t count = 0;
  for (Index y = 0; y < fabric.mesh().height; ++y)
    for (Index block = 0; block < fabric.queues().blocks(); ++block)
      if (A.here(y, block) && !A.placement().lies_in(fabric.tile(), y, block))
        count += A.shape(y, block).size() > 0 ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("in a bulk every core meets every block, the right one at each of its steps in turn", "[fabric]") {
  for (const Mesh mesh : meshes)
    test::on_every_tiling(mesh, [](const Fabric& fabric) {
      Blocks A = numbered(fabric);
      const Index steps = fabric.queues().blocks();
      Visits visits(fabric, A, steps, fabric::chunk_of(steps),
                    [&](const mesh::Tile& tile) { return uses_of_rows(fabric, tile); });
      std::vector<Index> done(at(fabric.mesh().cores()), 0);  // steps of each core
      std::vector<std::set<Index>> met(done.size());
      std::atomic<int> wrong = 0;

      fabric::run_chunks(fabric, steps, {&visits, 1}, [&](mesh::Range chunk) {
        fabric.for_cores([&](CoreCoord core) {
          const std::size_t k = at(core.y * fabric.mesh().width + core.x);
          for (Index step = chunk.begin; step < chunk.end; ++step) {
            const Index block = fabric.queues().block_at(core, step);
            if (step != done[k]++ || !is_right(A, core.y, block)) ++wrong;
            met[k].insert(block);
          }
        });
      });

      CHECK(wrong == 0);
      fabric.for_cores([&](CoreCoord core) {
        const std::size_t k = at(core.y * fabric.mesh().width + core.x);
        if (done[k] != steps || static_cast<Index>(met[k].size()) != steps) ++wrong;
      });
      CHECK(wrong == 0);
      CHECK(visiting(fabric, A) == 0);  // all have left
    });
}

TEST_CASE("blocks visit for exactly the chunks that use them, however long a chunk is", "[fabric]") {
  for (const Mesh mesh : meshes)
    test::on_every_tiling(mesh, [](const Fabric& fabric) {
      const Index steps = fabric.queues().blocks();
      for (const Index chunk : {Index{1}, Index{2}, steps, steps + 3}) {
        Blocks A = numbered(fabric);
        Visits visits(fabric, A, steps, chunk,
                      [&](const mesh::Tile& tile) { return uses_of_rows(fabric, tile); });
        int wrong = 0;
        for (Index k = 0; k * chunk < steps; ++k) {
          visits.start(k);
          visits.finish(k);
          for (Index step = k * chunk; step < std::min(steps, (k + 1) * chunk); ++step)
            for (Index y = fabric.tile().rows.begin; y < fabric.tile().rows.end; ++y)
              for (Index x = fabric.tile().columns.begin; x < fabric.tile().columns.end; ++x)
                wrong += is_right(A, y, fabric.queues().block_at({y, x}, step)) ? 0 : 1;
          visits.release(k);
        }
        CHECK(wrong == 0);
        CHECK(visiting(fabric, A) == 0);
      }
    });
}

TEST_CASE("a use begins and ends at the first and last step at which a core of the tile has the block",
          "[fabric]") {
  for (const Mesh mesh : meshes)
    test::on_every_tiling(mesh, [](const Fabric& fabric) {
      const mesh::Tile& tile = fabric.tile();
      const auto uses = uses_of_rows(fabric, tile);
      CHECK(static_cast<Index>(uses.size()) ==
            (tile.columns.size() > 0 ? tile.rows.size() * fabric.queues().blocks() : 0));
      for (const Use& use : uses) {
        Index first = fabric.queues().blocks();
        Index last = 0;
        for (Index step = 0; step < fabric.queues().blocks(); ++step)
          for (Index x = tile.columns.begin; x < tile.columns.end; ++x)
            if (fabric.queues().block_at({use.i, x}, step) == use.j) {
              first = std::min(first, step);
              last = std::max(last, step);
            }
        CHECK(use.first == first);
        CHECK(use.last == last);
      }
    });
}

namespace {

// The same blocks in memory that no other rank can read.
Blocks out_of_reach(const Fabric& fabric, const Blocks& A, std::vector<AlignedBuffer>& memory) {
  Blocks copy = Blocks::unfilled(fabric, A.placement(), A.type());
  for (Index y = 0; y < fabric.mesh().height; ++y)
    for (Index block = 0; block < fabric.queues().blocks(); ++block) {
      if (!A.here(y, block) || A.shape(y, block).size() == 0) continue;
      memory.emplace_back(A.block_bytes(y, block));
      std::copy_n(A.raw(y, block), A.block_bytes(y, block), memory.back().data());
      copy.admit(y, block, memory.back().data());
    }
  return copy;
}

// Whether block (y, block), which visits, is where its rank has it.
bool in_place(const Fabric& fabric, const Blocks& A, Index y, Index block) {
  const auto& node = fabric.communicator().node();
  const mesh::Rank home = fabric.tiling().rank_of(A.placement().home(y, block));
  const auto there = reinterpret_cast<std::uintptr_t>(node->there(home, 0));
  const auto here = reinterpret_cast<std::uintptr_t>(A.raw(y, block));
  return here >= there && here - there < std::uintptr_t{1} << 28;
}

// Every core looks at the ends of every block that it meets. Blocks that are not as expected.
Index wrong_in_bulk(const Fabric& fabric, Blocks& A, bool reachable) {
  const Index steps = fabric.queues().blocks();
  Visits visits(fabric, A, steps, fabric::chunk_of(steps),
                [&](const mesh::Tile& tile) { return uses_of_rows(fabric, tile); });
  Index seen = 0, wrong = 0;
  fabric::run_chunks(fabric, steps, {&visits, 1}, [&](mesh::Range chunk) {
    fabric.without_threads().for_cores([&](CoreCoord core) {
      for (Index step = chunk.begin; step < chunk.end; ++step, ++seen) {
        const Index block = fabric.queues().block_at(core, step);
        const auto values = A(core.y, block).row(0);
        const auto expected = static_cast<float>(100 * core.y + block);
        wrong += values.front() == expected && values.back() == expected ? 0 : 1;
        if (A.placement().lies_in(fabric.tile(), core.y, block)) continue;
        wrong += in_place(fabric, A, core.y, block) == reachable ? 0 : 1;
      }
    });
  });
  wrong += seen == fabric.tile().cores() * steps ? 0 : 1;
  return wrong + visiting(fabric, A);
}

}  // namespace

TEST_CASE("large blocks of a node's ranks are read in place, and come by messages from where they cannot be",
          "[fabric]") {
  const Fabric fabric(test::world(), mesh::Tiling({40, 40}, test::world().size()));
  Blocks A = numbered(fabric, 40 * Index{8000});  // 51 MB in blocks of 32 KB: too much to be gathered at once
  CHECK(wrong_in_bulk(fabric, A, true) == 0);
  // What the bulk has let go of may change at once.
  for (Index y = 0; y < fabric.mesh().height; ++y)
    for (Index block = 0; block < fabric.queues().blocks(); ++block)
      if (A.here(y, block)) A(y, block)(0, 0) = -1.0F;
  Blocks again = numbered(fabric, 40 * Index{8000});
  std::vector<AlignedBuffer> memory;
  Blocks B = out_of_reach(fabric, again, memory);
  CHECK(wrong_in_bulk(fabric, B, false) == 0);
}

TEST_CASE("one rank whose blocks cannot be read in place does not keep the others from it", "[fabric]") {
  const Fabric fabric(test::world(), mesh::Tiling({5, 7}, test::world().size()));
  Blocks A = numbered(fabric, 7 * Index{9001});
  std::vector<AlignedBuffer> memory;
  if (test::world().rank().value == 0) A = out_of_reach(fabric, A, memory);
  const Index steps = fabric.queues().blocks();
  Visits visits(fabric, A, steps, fabric::chunk_of(steps),
                [&](const mesh::Tile& tile) { return uses_of_rows(fabric, tile); });
  Index wrong = 0;
  fabric::run_chunks(fabric, steps, {&visits, 1}, [&](mesh::Range chunk) {
    fabric.without_threads().for_cores([&](CoreCoord core) {
      for (Index step = chunk.begin; step < chunk.end; ++step) {
        const Index block = fabric.queues().block_at(core, step);
        wrong += is_right(A, core.y, block) ? 0 : 1;
        const CoreCoord home = A.placement().home(core.y, block);
        if (!fabric.tile().contains(home))
          wrong += in_place(fabric, A, core.y, block) == (fabric.tiling().rank_of(home).value != 0) ? 0 : 1;
      }
    });
  });
  CHECK(wrong == 0);
}
