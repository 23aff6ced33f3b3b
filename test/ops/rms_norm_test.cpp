#include "ops/rms_norm.hpp"

#include <cmath>

#include "ops/operands.hpp"

using namespace wafer;
using fabric::AllReduce, fabric::Fabric, fabric::Placement;
using mesh::Axis, mesh::Mesh;

namespace {

constexpr float eps = 1e-3F;
const std::vector<Mesh> meshes = {{1, 1}, {2, 3}, {3, 2}, {1, 4}, {5, 5}, {7, 5}};
const std::vector<Shape> shapes = {{1, 1}, {1, 3}, {3, 2}, {11, 67}};

std::vector<double> plain_norm(const std::vector<float>& x, const std::vector<float>& gamma) {
  std::vector<double> y;
  for (std::size_t row = 0; row < x.size(); row += gamma.size()) {
    double sum = 0.0;
    for (std::size_t k = 0; k < gamma.size(); ++k) sum += static_cast<double>(x[row + k]) * x[row + k];
    const double scale = 1.0 / std::sqrt(sum / static_cast<double>(gamma.size()) + eps);
    for (std::size_t k = 0; k < gamma.size(); ++k) y.push_back(x[row + k] * scale * gamma[k]);
  }
  return y;
}

}  // namespace

TEST_CASE("every row of a matrix is normed as in double, with the same bits on every tiling", "[ops]") {
  for (const Shape shape : shapes)
    for (const Mesh mesh : meshes) {
      const auto x = test::normals(shape.size(), 1);
      const auto gamma = test::normals(shape.cols, 2);
      const auto on_mesh = [&](const Fabric& fabric) {
        const auto X = test::placed(
            fabric,
            Placement::plain(Partition::even(shape.rows, mesh.height), test::dealt(shape.cols, mesh.width)),
            x);
        const auto rows = AllReduce::of_lines(fabric, Axis::x);
        return fabric::gather(fabric, ops::rms_norm(fabric, X, gamma, eps, rows));
      };
      const auto alone = test::on_one_rank(mesh, on_mesh);
      REQUIRE(test::distance(alone, plain_norm(x, gamma)) <= 2e-6);
      test::on_every_tiling(
          mesh, [&](const Fabric& fabric) { REQUIRE(test::differing(on_mesh(fabric), alone) == 0); });
    }
}

TEST_CASE("a vector is normed as in double, with the same bits on every copy and every tiling", "[ops]") {
  for (const Index length : {1, 3, 67})
    for (const Mesh mesh : meshes) {
      const auto x = test::normals(length, 1);
      const auto gamma = test::normals(length, 2);
      const Partition parts = test::dealt(length, mesh.height);
      const auto on_mesh = [&](const Fabric& fabric) {
        const auto X = test::placed(fabric, Placement::copied(Axis::x, parts), x);
        return ops::rms_norm_vector(fabric, X, gamma, eps, AllReduce::of_copies(fabric, Axis::y));
      };
      const auto alone = test::on_one_rank(
          mesh, [&](const Fabric& fabric) { return fabric::gather(fabric, on_mesh(fabric)); });
      REQUIRE(test::distance(alone, plain_norm(x, gamma)) <= 2e-6);
      test::on_every_tiling(mesh, [&](const Fabric& fabric) {
        const auto y = on_mesh(fabric);
        for (Index part = 0; part < parts.parts(); ++part)
          for (Index k = 0; k < parts.size(part) && y.here(0, part); ++k)
            CHECK(y.vector(part)[at(k)] == alone[at(parts.indices(part)[at(k)])]);
      });
    }
}
