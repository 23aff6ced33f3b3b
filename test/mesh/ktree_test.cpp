#include "mesh/ktree.hpp"

#include <map>

#include "support/catch.hpp"

using wafer::Index;
using namespace wafer::mesh;

TEST_CASE("the default groups of two levels are those of the paper's authors", "[mesh]") {
  const std::map<Index, Index> published = {{240, 15}, {256, 16}, {360, 18}, {420, 20}, {480, 20},
                                            {540, 20}, {600, 24}, {660, 22}, {720, 24}};
  for (const auto& entry : published) {
    CAPTURE(entry.first);
    CHECK(default_groups(entry.first, 2) == entry.second);
  }
}

TEST_CASE("every place's contribution reaches the root exactly once", "[mesh]") {
  for (Index n = 1; n <= 64; ++n)
    for (Index levels = 1; levels <= 4; ++levels) {
      CAPTURE(n, levels);
      const KTree tree(n, levels);
      std::vector<Index> carried(static_cast<std::size_t>(n), 1);
      for (const auto& level : tree.levels())
        for (const Chain& chain : level)
          for (Index m = 0; m < static_cast<Index>(chain.members.size()); ++m)
            if (m != chain.root) {
              const Index place = chain.members[wafer::at(m)];
              carried[wafer::at(chain.root_place())] += carried[wafer::at(place)];
              carried[wafer::at(place)] = 0;
            }
      CHECK(carried[wafer::at(tree.root())] == n);
    }
}

TEST_CASE("given group counts are taken, uneven ones too", "[mesh]") {
  const KTree tree(7, 2, 3);
  REQUIRE(tree.levels().size() == 2);
  REQUIRE(tree.levels()[0].size() == 3);
  CHECK(tree.levels()[0][0].members == std::vector<Index>{0, 1, 2});
  CHECK(tree.levels()[0][0].root_place() == 1);
  CHECK(tree.levels()[0][2].members == std::vector<Index>{5, 6});
  CHECK(tree.levels()[1][0].members == std::vector<Index>{1, 4, 6});
  CHECK(tree.root() == 4);
}

TEST_CASE("one level is one chain with its root in the middle", "[mesh]") {
  const KTree tree(9, 1);
  REQUIRE(tree.levels().size() == 1);
  REQUIRE(tree.levels()[0].size() == 1);
  CHECK(tree.root() == 4);
}
