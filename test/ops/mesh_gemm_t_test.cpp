#include "ops/mesh_gemm_t.hpp"

#include "fabric/fold.hpp"
#include "kernels/activation.hpp"
#include "ops/operands.hpp"

using namespace wafer;
using fabric::Fabric, fabric::Placement;
using mesh::Mesh;

namespace {

const std::vector<Mesh> meshes = {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5},
                                  {2, 3}, {3, 2}, {1, 4}, {4, 1}, {7, 5}};

struct Sizes {
  Index m, k, n;
};
const std::vector<Sizes> all_sizes = {{1, 1, 1}, {2, 3, 1}, {13, 11, 17}, {8, 40, 5}, {3, 1, 2}, {1, 23, 29}};

std::vector<float> on_mesh(const Fabric& fabric, const Sizes& sizes, const Partition& contraction,
                           const std::vector<float>& a, const std::vector<float>& b) {
  const Partition rows = Partition::even(sizes.m, fabric.mesh().height);
  const auto A = test::placed(fabric, Placement::plain(rows, contraction), a);
  auto B = test::placed(fabric, ops::mesh_gemm_t_right(fabric, sizes.n, contraction), b);
  return fabric::gather(fabric, ops::mesh_gemm_t(fabric, A, B));
}

// Core by core: the row's partial products of block l, folded to the column that owns l.
std::vector<float> core_by_core(Mesh mesh, const Sizes& sizes, const Partition& contraction,
                                const std::vector<float>& a, const std::vector<float>& b) {
  const mesh::QueuePlan queues(mesh);
  const Partition rows = Partition::even(sizes.m, mesh.height);
  const Partition blocks = fabric::contraction_blocks(queues.y, Partition::even(sizes.n, mesh.height));
  std::vector<float> c(at(sizes.m * sizes.n));
  for (Index y = 0; y < mesh.height; ++y)
    for (Index l = 0; l < queues.blocks(); ++l) {
      mesh::Chain chain{{}, queues.x.place_of_block(l)};
      for (Index x = 0; x < mesh.width; ++x) chain.members.push_back(x);
      const Shape shape{rows.size(y), blocks.size(l)};
      const auto product = [&](Index x) {
        std::vector<float> own(at(shape.size()));
        const auto A = test::block_of(a, sizes.k, rows.indices(y), contraction.indices(x));
        const auto B = test::block_of(b, sizes.k, blocks.indices(l), contraction.indices(x));
        kernels::gemm_nt(A.view(), B.view(), {own.data(), shape}, kernels::Output::overwrite);
        return own;
      };
      auto sum = test::fold_chain(chain, product, kernels::add);
      test::put(MatrixView<const float>(sum.data(), shape), sizes.n, rows.indices(y), blocks.indices(l), c);
    }
  return c;
}

}  // namespace

TEST_CASE("MeshGEMM-T gives the closed form on every mesh, for odd, single and fewer elements than cores",
          "[ops]") {
  for (const Mesh mesh : meshes)
    for (const Sizes& sizes : all_sizes)
      test::on_every_tiling(mesh, [&](const Fabric& fabric) {
        const auto b = test::ratios({sizes.k, sizes.n});
        std::vector<float> b_t;
        for (Index j = 0; j < sizes.n; ++j)
          for (Index k = 0; k < sizes.k; ++k) b_t.push_back(b[at(k * sizes.n + j)]);
        const auto c = on_mesh(fabric, sizes, Partition::even(sizes.k, mesh.width),
                               test::ratios({sizes.m, sizes.k}), b_t);
        CAPTURE(sizes.m, sizes.k, sizes.n);
        REQUIRE(test::closed_form_error(c, {sizes.m, sizes.n}, sizes.k) == 0.0);
      });
}

TEST_CASE("MeshGEMM-T has the bits of a core-by-core run on every tiling", "[ops]") {
  for (const Mesh mesh : meshes)
    for (const Sizes& sizes : all_sizes)
      for (const bool lists : {false, true}) {
        const auto a = test::normals(sizes.m * sizes.k, 1);
        const auto b = test::normals(sizes.n * sizes.k, 2);
        const Partition contraction =
            lists ? test::dealt(sizes.k, mesh.width) : Partition::even(sizes.k, mesh.width);
        const auto expected = core_by_core(mesh, sizes, contraction, a, b);
        test::on_every_tiling(mesh, [&](const Fabric& fabric) {
          CAPTURE(sizes.m, sizes.k, sizes.n, lists);
          REQUIRE(test::differing(on_mesh(fabric, sizes, contraction, a, b), expected) == 0);
        });
      }
}

TEST_CASE("blocks that no row needs are neither multiplied nor written", "[ops]") {
  test::on_every_tiling({3, 2}, [](const Fabric& fabric) {
    const ops::RunMesh run(3, {0, 2});
    const Partition rows = Partition::even(5, 3);
    const Partition cols = Partition::even(4, 2);
    const Partition keys = fabric::contraction_blocks(run.queues.y, Partition::even(7, 3));
    fabric::Blocks B(fabric, ops::at_rest_on_columns(run, keys, cols));
    fabric::Blocks C(fabric, ops::on_owners(run, rows, keys));
    const auto product = [](mesh::CoreCoord, Index, std::span<float> own) {
      std::fill(own.begin(), own.end(), 1.0F);
    };
    ops::mesh_gemm_t_loop(fabric, run, B, C, product, [](Index row, Index block) { return row == block; });

    std::vector<float> expected(35, 0.0F);
    for (Index y = 0; y < 3; ++y)
      for (const Index i : rows.indices(y))
        for (const Index j : keys.indices(y)) expected[at(i * 7 + j)] = 2.0F;  // both columns' products
    REQUIRE(test::differing(fabric::gather(fabric, C), expected) == 0);
  });
}
