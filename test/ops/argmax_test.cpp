#include "ops/argmax.hpp"

#include <limits>

#include "core/error.hpp"
#include "fabric/tilings.hpp"

using namespace wafer;
using fabric::Fabric, fabric::Placement;
using mesh::CoreCoord, mesh::Mesh;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

Index on_mesh(const Fabric& fabric, const std::vector<float>& logits, Index root_row, bool lists) {
  const auto length = static_cast<Index>(logits.size());
  const Index width = fabric.mesh().width;
  const Placement placement(Partition::even(1, 1),
                            lists ? test::dealt(length, width) : Partition::even(length, width),
                            [root_row](Index, Index x) {
                              return CoreCoord{root_row, x};
                            });
  return ops::argmax(fabric, test::placed(fabric, placement, logits), root_row);
}

void check(const std::vector<float>& logits, Index expected) {
  for (const Mesh mesh : {Mesh{1, 1}, Mesh{2, 3}, Mesh{1, 4}, Mesh{5, 5}, Mesh{7, 5}})
    test::on_every_tiling(mesh, [&](const Fabric& fabric) {
      for (const Index root_row : {Index{0}, mesh.height / 2, mesh.height - 1})
        for (const bool lists : {false, true}) CHECK(on_mesh(fabric, logits, root_row, lists) == expected);
    });
}

}  // namespace

TEST_CASE("every rank learns where the largest logit is, wherever that may be", "[ops]") {
  for (Index best = 0; best < 11; ++best) {
    auto logits = test::normals(11, 1);
    logits[at(best)] = 100.0F;
    check(logits, best);
  }
}

TEST_CASE("of equal logits the lowest id wins", "[ops]") {
  check({1, 5, 2, 5, 5, 0, 5}, 1);
  check(std::vector<float>(13, 0.0F), 0);
  check({-0.0F, 0.0F}, 0);
  check({-3, -1, -2, -1}, 1);
}

TEST_CASE("a vocabulary smaller than the mesh leaves parts empty, which never win", "[ops]") {
  check({-7.0F}, 0);
  check({-7.0F, -6.0F}, 1);
  check({-infinity}, 0);
}

TEST_CASE("infinite logits are compared like any others", "[ops]") {
  check({-infinity, -infinity, -infinity, -infinity, -infinity}, 0);
  check({-infinity, -1e30F, -infinity}, 1);
  check({1.0F, infinity, 2.0F, infinity}, 1);
}

TEST_CASE("what is not a number never wins; where nothing is one, that is an error on every rank", "[ops]") {
  check({not_a_number, 1.0F, not_a_number, 2.0F, not_a_number}, 3);
  check({not_a_number, -infinity}, 1);
  test::on_every_tiling({2, 3}, [](const Fabric& fabric) {
    CHECK_THROWS_AS(on_mesh(fabric, std::vector<float>(5, not_a_number), 1, false), InternalError);
  });
}
