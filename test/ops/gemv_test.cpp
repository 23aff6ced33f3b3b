#include "ops/gemv.hpp"

#include "fabric/fold.hpp"
#include "kernels/activation.hpp"
#include "kernels/gemv.hpp"
#include "ops/operands.hpp"

using namespace wafer;
using fabric::AllReduce, fabric::Blocks, fabric::Fabric, fabric::Placement, fabric::ReduceShape;
using mesh::Axis, mesh::Mesh;

namespace {

const std::vector<Mesh> meshes = {{1, 1}, {2, 2}, {3, 3}, {5, 5}, {2, 3}, {3, 2}, {1, 4}, {7, 5}, {1, 13}};
const std::vector<Shape> shapes = {{1, 1}, {3, 2}, {11, 17}, {40, 5}, {2, 31}};

// The vector is cut along `axis`, the result along the other one; plain for Y, turned for X.
struct Cuts {
  Cuts(Mesh mesh, Axis axis, Shape shape)
      : vector(test::dealt(shape.rows, mesh.length(axis))),
        result(Partition::even(shape.cols, mesh.length(mesh::other(axis)))),
        matrix(axis == Axis::y ? Placement::plain(vector, result) : Placement::turned(vector, result)) {}
  Partition vector, result;
  Placement matrix;
};

struct Results {
  std::vector<float> everywhere, at_roots;
};

Results on_mesh(const Fabric& fabric, Axis axis, Shape shape, ReduceShape tree, const Blocks& B,
                const std::vector<float>& a) {
  const Cuts cuts(fabric.mesh(), axis, shape);
  const auto lines = AllReduce::of_lines(fabric, axis, tree);
  const auto vector = test::placed(fabric, Placement::copied(mesh::other(axis), cuts.vector), a);
  const Blocks c = ops::mesh_gemv(fabric, axis, lines, vector, B);
  for (Index line = 0; line < cuts.result.parts(); ++line)  // all copies, and nothing but copies
    CHECK((c.here(0, line) || !c.placement().lies_in(fabric.tile(), 0, line)));
  return {fabric::gather(fabric, c),
          fabric::gather(fabric, ops::mesh_gemv_to_root(fabric, axis, lines, vector, B))};
}

std::vector<float> core_by_core(Mesh mesh, Axis axis, Shape shape, ReduceShape tree,
                                const std::vector<float>& a, const std::vector<float>& b) {
  const Cuts cuts(mesh, axis, shape);
  const mesh::KTree order(mesh.length(axis), tree.levels, std::min(tree.groups, mesh.length(axis)));
  std::vector<float> c(at(shape.cols));
  const std::vector<Index> only_row = {0};
  for (Index line = 0; line < cuts.result.parts(); ++line) {
    const Index length = cuts.result.size(line);
    const auto product = [&](Index place) {
      std::vector<float> own(at(length));
      const auto part = test::block_of(a, shape.rows, only_row, cuts.vector.indices(place));
      const auto B = test::block_of(b, shape.cols, cuts.vector.indices(place), cuts.result.indices(line));
      kernels::gemv_add(part.view().row(0), typed(B.view()), own);
      return own;
    };
    const auto sum = test::fold_tree(order, product, kernels::add);
    test::put(MatrixView<const float>(sum.data(), {1, length}), shape.cols, only_row,
              cuts.result.indices(line), c);
  }
  return c;
}

}  // namespace

TEST_CASE("MeshGEMV gives the closed form for plain and turned matrices", "[ops]") {
  for (const Mesh mesh : meshes)
    for (const Axis axis : {Axis::x, Axis::y})
      for (const Shape shape : shapes)
        test::on_every_tiling(mesh, [&](const Fabric& fabric) {
          const Cuts cuts(mesh, axis, shape);
          const auto B = test::placed(fabric, cuts.matrix, test::ratios(shape));
          const auto c = on_mesh(fabric, axis, shape, {}, B, test::ratios({1, shape.rows}));
          CAPTURE(axis == Axis::x, shape.rows, shape.cols);
          REQUIRE(test::closed_form_error(c.everywhere, {1, shape.cols}, shape.rows) == 0.0);
          REQUIRE(test::differing(c.at_roots, c.everywhere) == 0);
        });
}

TEST_CASE("MeshGEMV has the bits of a core-by-core run on every tiling, for any tree", "[ops]") {
  for (const Mesh mesh : meshes)
    for (const Axis axis : {Axis::x, Axis::y})
      for (const ReduceShape tree : {ReduceShape{2, 0}, ReduceShape{1, 0}, ReduceShape{3, 2}}) {
        const Shape shape{11, 17};
        const auto a = test::normals(shape.rows, 1);
        const auto b = test::normals(shape.size(), 2);
        const auto expected = core_by_core(mesh, axis, shape, tree, a, b);
        test::on_every_tiling(mesh, [&](const Fabric& fabric) {
          const auto B = test::placed(fabric, Cuts(mesh, axis, shape).matrix, b);
          const auto c = on_mesh(fabric, axis, shape, tree, B, a);
          REQUIRE(test::differing(c.everywhere, expected) == 0);
          REQUIRE(test::differing(c.at_roots, expected) == 0);
        });
      }
}

TEST_CASE("MeshGEMV widens weights in 16 bits and then multiplies alike", "[ops]") {
  const Shape shape{11, 17};
  const auto a = test::normals(shape.rows, 1);
  const auto b = test::normals(shape.size(), 2);
  for (const DType type : {DType::bf16, DType::f16})
    for (const Mesh mesh : {Mesh{2, 3}, Mesh{5, 5}}) {
      const auto expected = core_by_core(mesh, Axis::y, shape, {}, a, test::rounded(b, type));
      test::on_every_tiling(mesh, [&](const Fabric& fabric) {
        const auto B = test::placed_as(type, fabric, Cuts(mesh, Axis::y, shape).matrix, b);
        REQUIRE(test::differing(on_mesh(fabric, Axis::y, shape, {}, B, a).everywhere, expected) == 0);
      });
    }
}
