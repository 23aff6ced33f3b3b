#include "study/freivalds.hpp"

#include <cmath>
#include <limits>

#include "core/random.hpp"
#include "ops/mesh_gemm.hpp"
#include "support/catch.hpp"

using wafer::Index, wafer::Partition;
using namespace wafer::fabric;

namespace {

// A product of random matrices of odd sizes, and its factors.
struct Product {
  Communicator world = Communicator::world();
  wafer::mesh::Mesh mesh{3, 2};
  Fabric fabric{world, wafer::mesh::Tiling(mesh, world.size())};
  Partition k = Partition::even(23, mesh.width);
  Blocks A{fabric, Placement::plain(Partition::even(17, mesh.height), k)};
  Blocks B{fabric, wafer::ops::MeshGemm(fabric).right(k, Partition::even(19, mesh.width))};
  Blocks C;

  Product() {
    fill(A, 1);
    fill(B, 2);
    C = wafer::ops::MeshGemm(fabric).multiply(A, B, Partition::even(19, mesh.width));
  }
  static void fill(Blocks& matrix, std::uint64_t stream) {
    const wafer::Random random(5, stream);
    for (Index i = 0; i < matrix.placement().rows().parts(); ++i)
      for (Index j = 0; j < matrix.placement().cols().parts(); ++j) {
        if (!matrix.here(i, j)) continue;
        const auto block = matrix(i, j);
        for (Index r = 0; r < block.rows(); ++r)
          for (Index c = 0; c < block.cols(); ++c)
            block(r, c) = random.normal(
                static_cast<std::uint64_t>(1000 * matrix.placement().rows().indices(i)[wafer::at(r)] +
                                           matrix.placement().cols().indices(j)[wafer::at(c)]));
      }
  }
  double share() const { return wafer::study::freivalds(fabric, A, B, C, false); }
  // One element of C, on whichever rank has it.
  void add_to_one(float value) {
    if (C.here(1, 1)) C(1, 1)(2, 3) += value;
  }
};

}  // namespace

TEST_CASE("a right product stays within the rounding bound", "[study]") { CHECK(Product().share() < 0.5); }

TEST_CASE("one element that is off by a thousandth of the norms is found", "[study]") {
  Product product;
  product.add_to_one(0.05F);
  CHECK(product.share() > 1.0);
}

TEST_CASE("a NaN is never within the bound", "[study]") {
  Product product;
  product.add_to_one(std::numeric_limits<float>::quiet_NaN());
  CHECK(std::isnan(product.share()));
}

TEST_CASE("the hash changes with one bit, and with two elements that change places", "[study]") {
  Product product;
  const auto before = wafer::study::hash_of(product.fabric, product.C);
  CHECK(before == wafer::study::hash_of(product.fabric, product.C));
  if (product.C.here(1, 1)) {
    auto block = product.C(1, 1);
    std::swap(block(0, 0), block(0, 1));
  }
  CHECK(before != wafer::study::hash_of(product.fabric, product.C));
}
