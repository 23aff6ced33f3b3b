#include "mesh/tiling.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "support/catch.hpp"

using wafer::Index;
using namespace wafer::mesh;

TEST_CASE("the tiles cover every core once, for any number of ranks", "[mesh]") {
  for (const Mesh mesh : {Mesh{1, 1}, Mesh{1, 7}, Mesh{5, 5}, Mesh{2, 3}, Mesh{8, 8}})
    for (int ranks = 1; ranks <= mesh.cores(); ++ranks) {
      const Tiling tiling(mesh, ranks);
      Index covered = 0;
      for (int r = 0; r < ranks; ++r) covered += tiling.tile({r}).cores();
      CHECK(covered == mesh.cores());
      for (Index y = 0; y < mesh.height; ++y)
        for (Index x = 0; x < mesh.width; ++x) CHECK(tiling.tile(tiling.rank_of({y, x})).contains({y, x}));
    }
}

TEST_CASE("the largest tile is as small as a grid of that many ranks allows", "[mesh]") {
  const Tiling tiling({8, 8}, 4);
  CHECK(tiling.grid() == Mesh{2, 2});
  CHECK(Tiling({1, 6}, 3).grid() == Mesh{1, 3});
  CHECK(Tiling({9, 2}, 3).grid() == Mesh{3, 1});
}

TEST_CASE("a prime number of ranks may leave ranks idle", "[mesh]") {
  const Tiling tiling({2, 3}, 5);
  CHECK(tiling.idle_ranks() == 2);
}

TEST_CASE("more ranks than cores and a wrong grid are refused", "[mesh]") {
  CHECK_THROWS_AS(Tiling({2, 2}, 5), wafer::FitError);
  CHECK_THROWS_AS(Tiling({4, 4}, 4, Mesh{3, 1}), wafer::UsageError);
  CHECK(Tiling({4, 4}, 4, Mesh{4, 1}).grid() == Mesh{4, 1});
}

TEST_CASE("a mesh is read as rows x columns", "[mesh]") {
  CHECK(parse_mesh("7x5", "--mesh") == Mesh{7, 5});
  for (const char* bad : {"0x4", "4", "4x", "x4", "4x4x4", "-1x2", "4 x 4", "1e3x2", "", "999999x1"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_mesh(bad, "--mesh"), wafer::UsageError);
  }
}
