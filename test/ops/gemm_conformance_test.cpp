// What every algorithm of ops::gemm_algorithms() has to keep: values, bits on every tiling, the ledger of a
// dry run.
#include "core/error.hpp"
#include "ops/gemm.hpp"
#include "ops/operands.hpp"
#include "support/test_device.hpp"

using namespace wafer;
using fabric::Blocks, fabric::Fabric, fabric::Placement;
using mesh::Mesh;

namespace {

const std::vector<Mesh> meshes = {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {2, 3}, {5, 2}, {8, 8}};

struct Sizes {
  Index m, k, n;
};
const std::vector<Sizes> all_sizes = {{1, 1, 1}, {13, 11, 17}, {3, 29, 2}, {9, 7, 1}};

struct Cuts {
  Cuts(Mesh mesh, const Sizes& sizes, bool lists)
      : rows(Partition::even(sizes.m, mesh.height)),
        contraction(lists ? test::dealt(sizes.k, mesh.width) : Partition::even(sizes.k, mesh.width)),
        cols(lists ? test::dealt(sizes.n, mesh.width) : Partition::even(sizes.n, mesh.width)) {}
  Partition rows, contraction, cols;
};

std::vector<float> product(const Fabric& fabric, const ops::GemmAlgorithm& algorithm, const Cuts& cuts,
                           const std::vector<float>& a, const std::vector<float>& b) {
  const auto gemm = algorithm.make(fabric);
  const auto A = test::placed(fabric, Placement::plain(cuts.rows, cuts.contraction), a);
  auto B = test::placed(fabric, gemm->right(cuts.contraction, cuts.cols), b);
  const Blocks C = gemm->multiply(A, B, cuts.cols);
  for (Index y = 0; y < fabric.mesh().height; ++y)
    for (Index x = 0; x < fabric.mesh().width; ++x) CHECK(C.placement().home(y, x) == mesh::CoreCoord{y, x});
  CHECK(test::differing(fabric::gather(fabric, A), a) == 0);
  CHECK(test::differing(fabric::gather(fabric, B), b) == 0);
  return fabric::gather(fabric, C);
}

plmr::Ledger ledger_of(const Fabric& fabric, plmr::Execution& execution, bool dry,
                       const ops::GemmAlgorithm& algorithm, const Cuts& cuts) {
  const Fabric charged(fabric.communicator(), fabric.tiling(), 1, &execution, dry);
  const auto gemm = algorithm.make(charged);
  const Blocks A(charged, Placement::plain(cuts.rows, cuts.contraction));
  Blocks B(charged, gemm->right(cuts.contraction, cuts.cols));
  gemm->multiply(A, B, cuts.cols);
  return execution.ledger();
}

}  // namespace

TEST_CASE("every GEMM gives the closed form on every mesh, for odd sizes and fewer elements than cores",
          "[ops]") {
  for (const auto& algorithm : ops::gemm_algorithms())
    for (const Mesh mesh : meshes)
      for (const Sizes& sizes : all_sizes)
        test::on_every_tiling(mesh, [&](const Fabric& fabric) {
          CAPTURE(std::string(algorithm.name), sizes.m, sizes.k, sizes.n);
          const auto c = product(fabric, algorithm, Cuts(mesh, sizes, false),
                                 test::ratios({sizes.m, sizes.k}), test::ratios({sizes.k, sizes.n}));
          REQUIRE(test::closed_form_error(c, {sizes.m, sizes.n}, sizes.k) == 0.0);
        });
}

TEST_CASE("every GEMM has the bits of one rank on every tiling, for any lists of columns", "[ops]") {
  for (const auto& algorithm : ops::gemm_algorithms())
    for (const Mesh mesh : meshes)
      for (const Sizes& sizes : all_sizes) {
        const Cuts cuts(mesh, sizes, true);
        const auto a = test::normals(sizes.m * sizes.k, 1);
        const auto b = test::normals(sizes.k * sizes.n, 2);
        const auto alone = test::on_one_rank(
            mesh, [&](const Fabric& fabric) { return product(fabric, algorithm, cuts, a, b); });
        test::on_every_tiling(mesh, [&](const Fabric& fabric) {
          CAPTURE(std::string(algorithm.name), sizes.m, sizes.k, sizes.n);
          REQUIRE(test::differing(product(fabric, algorithm, cuts, a, b), alone) == 0);
        });
      }
}

TEST_CASE("every GEMM has the ledger, clocks and memory of its dry run", "[ops]") {
  for (const auto& algorithm : ops::gemm_algorithms())
    for (const Mesh mesh : meshes)
      for (const Sizes& sizes : all_sizes) {
        const Cuts cuts(mesh, sizes, true);
        const plmr::Device device = test::odd_device();
        plmr::Execution dry(device, mesh, {2, false});
        const auto expected = test::on_one_rank(
            mesh, [&](const Fabric& fabric) { return ledger_of(fabric, dry, true, algorithm, cuts); });
        CHECK((mesh.cores() == 1) == (expected.total([](const auto&) { return true; }).words == 0));
        test::on_every_tiling(mesh, [&](const Fabric& fabric) {
          CAPTURE(std::string(algorithm.name), sizes.m, sizes.k, sizes.n);
          plmr::Execution real(device, mesh, {2, false});
          CHECK(ledger_of(fabric, real, false, algorithm, cuts) == expected);
          CHECK(real.clocks() == dry.clocks());
          CHECK(real.peak_bytes() == dry.peak_bytes());
        });
      }
}

TEST_CASE("an unknown GEMM is refused by name") {
  CHECK_THROWS_WITH(ops::gemm_algorithm("strassen"), Catch::Contains("strassen") && Catch::Contains("summa"));
}
