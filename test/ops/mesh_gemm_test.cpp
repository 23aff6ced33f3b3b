#include "ops/mesh_gemm.hpp"

#include "core/error.hpp"
#include "ops/operands.hpp"

using namespace wafer;
using fabric::Blocks, fabric::Fabric, fabric::Placement;
using mesh::Mesh;

namespace {

const std::vector<Mesh> meshes = {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5},
                                  {2, 3}, {3, 2}, {1, 4}, {4, 1}, {7, 5}};

struct Sizes {
  Index m, k, n;
};
const std::vector<Sizes> all_sizes = {{1, 1, 1}, {2, 3, 1}, {13, 11, 17}, {8, 40, 5}, {3, 1, 2}, {1, 23, 29}};

// How the three lengths are cut; lists of indices as well as runs.
struct Cuts {
  Cuts(Mesh mesh, const Sizes& sizes, bool lists)
      : rows(Partition::even(sizes.m, mesh.height)),
        contraction(lists ? test::dealt(sizes.k, mesh.width) : Partition::even(sizes.k, mesh.width)),
        cols(lists ? test::dealt(sizes.n, mesh.width) : Partition::even(sizes.n, mesh.width)) {}
  Partition rows, contraction, cols;
};

std::vector<float> on_mesh(const Fabric& fabric, const Cuts& cuts, const std::vector<float>& a,
                           const std::vector<float>& b, DType type = DType::f32) {
  const auto A = test::placed(fabric, Placement::plain(cuts.rows, cuts.contraction), a);
  auto B = test::placed_as(type, fabric, ops::MeshGemm(fabric).right(cuts.contraction, cuts.cols), b);
  return fabric::gather(fabric, ops::MeshGemm(fabric).multiply(A, B, cuts.cols));
}

// Core by core: each adds its products in the order in which the blocks come past.
std::vector<float> core_by_core(Mesh mesh, const Sizes& sizes, const Cuts& cuts, const std::vector<float>& a,
                                const std::vector<float>& b) {
  const mesh::QueuePlan queues(mesh);
  const Partition blocks = fabric::contraction_blocks(queues.x, cuts.contraction);
  std::vector<float> c(at(sizes.m * sizes.n));
  for (Index y = 0; y < mesh.height; ++y)
    for (Index x = 0; x < mesh.width; ++x) {
      test::Local C({cuts.rows.size(y), cuts.cols.size(x)});
      for (Index step = 0; step < queues.blocks(); ++step) {
        const auto l = blocks.indices(queues.block_at({y, x}, step));
        const auto A = test::block_of(a, sizes.k, cuts.rows.indices(y), l);
        const auto B = test::block_of(b, sizes.n, l, cuts.cols.indices(x));
        kernels::gemm(A.view(), std::as_const(B).view(), C.view(), kernels::Output::add);
      }
      test::put(C.view(), sizes.n, cuts.rows.indices(y), cuts.cols.indices(x), c);
    }
  return c;
}

}  // namespace

TEST_CASE("MeshGEMM gives the closed form on every mesh, for odd, single and fewer elements than cores",
          "[ops]") {
  for (const Mesh mesh : meshes)
    for (const Sizes& sizes : all_sizes)
      test::on_every_tiling(mesh, [&](const Fabric& fabric) {
        const Cuts cuts(mesh, sizes, false);
        const auto c =
            on_mesh(fabric, cuts, test::ratios({sizes.m, sizes.k}), test::ratios({sizes.k, sizes.n}));
        CAPTURE(sizes.m, sizes.k, sizes.n);
        REQUIRE(test::closed_form_error(c, {sizes.m, sizes.n}, sizes.k) == 0.0);
      });
}

TEST_CASE("MeshGEMM has the bits of one rank on every tiling, and the values of a core-by-core run",
          "[ops]") {
  for (const Mesh mesh : meshes)
    for (const Sizes& sizes : all_sizes)
      for (const bool lists : {false, true}) {
        const Cuts cuts(mesh, sizes, lists);
        const auto a = test::normals(sizes.m * sizes.k, 1);
        const auto b = test::normals(sizes.k * sizes.n, 2);
        const auto expected =
            test::on_one_rank(mesh, [&](const Fabric& fabric) { return on_mesh(fabric, cuts, a, b); });
        const auto by_core = core_by_core(mesh, sizes, cuts, a, b);
        CHECK(test::distance(expected, std::vector<double>(by_core.begin(), by_core.end())) < 2e-6);
        test::on_every_tiling(mesh, [&](const Fabric& fabric) {
          CAPTURE(sizes.m, sizes.k, sizes.n, lists);
          REQUIRE(test::differing(on_mesh(fabric, cuts, a, b), expected) == 0);
        });
      }
}

TEST_CASE("weights in 16 bits are widened and then multiplied alike", "[ops]") {
  for (const DType type : {DType::bf16, DType::f16})
    for (const Mesh mesh : {Mesh{1, 1}, Mesh{2, 3}, Mesh{5, 5}}) {
      const Sizes sizes{13, 11, 17};
      const Cuts cuts(mesh, sizes, true);
      const auto a = test::normals(sizes.m * sizes.k, 1);
      const auto b = test::normals(sizes.k * sizes.n, 2);
      const auto expected = test::on_one_rank(
          mesh, [&](const Fabric& fabric) { return on_mesh(fabric, cuts, a, test::rounded(b, type)); });
      test::on_every_tiling(mesh, [&](const Fabric& fabric) {
        REQUIRE(test::differing(on_mesh(fabric, cuts, a, b, type), expected) == 0);
      });
    }
}

TEST_CASE("MeshGEMM leaves both operands as they were", "[ops]") {
  for (const Mesh mesh : {Mesh{2, 3}, Mesh{7, 5}})
    test::on_every_tiling(mesh, [&](const Fabric& fabric) {
      const Cuts cuts(mesh, {13, 11, 17}, true);
      const auto a = test::normals(13 * 11, 1);
      const auto b = test::normals(11 * 17, 2);
      const auto A = test::placed(fabric, Placement::plain(cuts.rows, cuts.contraction), a);
      auto B = test::placed(fabric, ops::MeshGemm(fabric).right(cuts.contraction, cuts.cols), b);
      const auto first = fabric::gather(fabric, ops::MeshGemm(fabric).multiply(A, B, cuts.cols));
      const auto second = fabric::gather(fabric, ops::MeshGemm(fabric).multiply(A, B, cuts.cols));
      REQUIRE(test::differing(second, first) == 0);
      REQUIRE(test::differing(fabric::gather(fabric, A), a) == 0);
      REQUIRE(test::differing(fabric::gather(fabric, B), b) == 0);
    });
}

TEST_CASE("operands whose contraction is cut differently are a mistake of ours", "[ops]") {
  test::on_every_tiling({2, 3}, [](const Fabric& fabric) {
    const Blocks A(fabric, Placement::plain(Partition::even(4, 2), Partition::even(7, 3)));
    Blocks B(fabric, ops::MeshGemm(fabric).right(test::dealt(7, 3), Partition::even(5, 3)));
    CHECK_THROWS_AS(ops::MeshGemm(fabric).multiply(A, B, Partition::even(5, 3)), InternalError);
  });
}
