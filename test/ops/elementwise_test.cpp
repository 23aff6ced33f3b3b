#include "ops/elementwise.hpp"

#include <cmath>

#include "ops/operands.hpp"

using namespace wafer;
using fabric::Fabric, fabric::Placement;
using mesh::Axis, mesh::Mesh;

namespace {

constexpr Shape shape{5, 13};

std::vector<Placement> placements(Mesh mesh) {
  return {
      Placement::plain(Partition::even(shape.rows, mesh.height), test::dealt(shape.cols, mesh.width)),
      Placement::turned(Partition::even(shape.rows, mesh.width), Partition::even(shape.cols, mesh.height))};
}

const std::vector<Mesh> meshes = {{1, 1}, {2, 3}, {7, 5}};

}  // namespace

TEST_CASE("a matrix and a bias are added to every element of a matrix", "[ops]") {
  const auto x = test::normals(shape.size(), 1);
  const auto y = test::normals(shape.size(), 2);
  const auto bias = test::normals(shape.cols, 3);
  std::vector<float> sum, with_bias;
  for (std::size_t k = 0; k < x.size(); ++k) {
    sum.push_back(x[k] + y[k]);
    with_bias.push_back(sum.back() + bias[k % bias.size()]);
  }
  for (const Mesh mesh : meshes)
    test::on_every_tiling(mesh, [&](const Fabric& fabric) {
      for (const Placement& placement : placements(mesh)) {
        auto X = test::placed(fabric, placement, x);
        ops::add(fabric, test::placed(fabric, placement, y), X);
        ops::add_bias(fabric, {}, X);
        REQUIRE(test::differing(fabric::gather(fabric, X), sum) == 0);
        ops::add_bias(fabric, bias, X);
        REQUIRE(test::differing(fabric::gather(fabric, X), with_bias) == 0);
      }
    });
}

TEST_CASE("a bias is added to every copy of a vector, once", "[ops]") {
  const auto x = test::normals(shape.cols, 1);
  const auto bias = test::normals(shape.cols, 3);
  for (const Mesh mesh : meshes)
    test::on_every_tiling(mesh, [&](const Fabric& fabric) {
      const Partition parts = test::dealt(shape.cols, mesh.width);
      auto copies = test::placed(fabric, Placement::copied(Axis::y, parts), x);
      ops::add_bias(fabric, bias, copies);
      for (Index part = 0; part < parts.parts(); ++part)
        for (Index k = 0; k < parts.size(part) && copies.here(0, part); ++k) {
          const std::size_t index = at(parts.indices(part)[at(k)]);
          CHECK(copies.vector(part)[at(k)] == x[index] + bias[index]);
        }
    });
}

TEST_CASE("silu(gate) up takes each column's two halves", "[ops]") {
  const Index ffn = 11;
  const auto gate_up = test::normals(shape.rows * 2 * ffn, 1);
  for (const Mesh mesh : meshes)
    test::on_every_tiling(mesh, [&](const Fabric& fabric) {
      const Partition parts = test::dealt(ffn, mesh.width);
      std::vector<std::vector<Index>> both(at(mesh.width));
      for (Index x = 0; x < mesh.width; ++x)
        for (const Index half : {Index{0}, ffn})
          for (const Index f : parts.indices(x)) both[at(x)].push_back(half + f);
      const Partition rows = Partition::even(shape.rows, mesh.height);
      const auto M = ops::silu_product(
          fabric, test::placed(fabric, Placement::plain(rows, Partition::of_lists(both)), gate_up),
          Placement::plain(rows, parts));
      const auto product = fabric::gather(fabric, M);
      double worst = 0.0;
      for (std::size_t k = 0; k < product.size(); ++k) {
        const std::size_t row = k / at(ffn) * at(2 * ffn);
        const double gate = gate_up[row + k % at(ffn)];
        const double up = gate_up[row + at(ffn) + k % at(ffn)];
        worst = std::max(worst, std::abs(product[k] - gate / (1.0 + std::exp(-gate)) * up));
      }
      CHECK(worst <= 2e-6);
      CHECK((product.size() == at(shape.rows * ffn) || !test::world().is_root()));
    });
}
