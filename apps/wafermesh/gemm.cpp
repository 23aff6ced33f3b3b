// wafermesh gemm: one distributed product, checked.
#include "kernels/gemm.hpp"

#include <memory>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/random.hpp"
#include "core/units.hpp"
#include "fabric/agree.hpp"
#include "ops/mesh_gemm.hpp"
#include "ops/mesh_gemm_t.hpp"
#include "study/freivalds.hpp"
#include "wafermesh/common.hpp"

namespace wafer::app {

using fabric::Blocks, fabric::Communicator, fabric::Fabric, fabric::Placement;

namespace {

struct GemmFlags {
  MeshFlags mesh;
  OutputFlags output;
  Index m = 256, n = 256, k = 256;
  std::string algorithm = "mesh";
  std::uint64_t seed = 0;
};

void fill(Blocks& matrix, std::uint64_t seed, std::uint64_t stream) {
  const Random random(seed, stream);
  const Index width = matrix.placement().cols().length();
  const auto& rows = matrix.placement().rows();
  const auto& cols = matrix.placement().cols();
  for (Index i = 0; i < rows.parts(); ++i)
    for (Index j = 0; j < cols.parts(); ++j) {
      if (!matrix.here(i, j)) continue;
      const auto block = matrix(i, j);
      for (Index r = 0; r < block.rows(); ++r)
        for (Index c = 0; c < block.cols(); ++c) {
          const auto n = static_cast<std::uint64_t>(rows.indices(i)[at(r)] * width + cols.indices(j)[at(c)]);
          block(r, c) = static_cast<float>(2.0 * random.uniform(n) - 1.0);
        }
    }
}

struct Measured {
  double seconds = 0.0;
  double share = 0.0;  // the error, of what rounding allows
  std::uint64_t hash = 0;
};

Measured multiply(const Fabric& fabric, const GemmFlags& flags) {
  const Communicator& world = fabric.communicator();
  const bool transposed = flags.algorithm == "mesh-t";
  const Partition k = Partition::even(flags.k, fabric.mesh().width);
  Blocks A, B;
  fabric::agree(world, [&] {  // memory may run out on some ranks only
    A = Blocks(fabric, Placement::plain(Partition::even(flags.m, fabric.mesh().height), k));
    B = Blocks(fabric, transposed
                           ? ops::mesh_gemm_t_right(fabric, flags.n, k)
                           : ops::mesh_gemm_right(fabric, k, Partition::even(flags.n, fabric.mesh().width)));
  });
  fill(A, flags.seed, 1);
  fill(B, flags.seed, 2);
  world.barrier();
  const double start = now();
  const Blocks C = transposed ? ops::mesh_gemm_t(fabric, A, B) : ops::mesh_gemm(fabric, A, B);
  const double seconds = world.max(now() - start);
  return {seconds, study::freivalds(fabric, A, B, C, transposed), study::hash_of(fabric, C)};
}

Result to_result(const GemmFlags& flags, const Fabric& fabric, const Measured& measured) {
  const double gflops = 2e-9 * static_cast<double>(flags.m) * static_cast<double>(flags.n) *
                        static_cast<double>(flags.k) / measured.seconds;
  const bool good = measured.share <= 1.0;
  const int ranks = fabric.communicator().size();
  return {{{"algorithm", flags.algorithm},
           {"m", flags.m},
           {"n", flags.n},
           {"k", flags.k},
           {"mesh", to_string(fabric.mesh())},
           {"ranks", ranks},
           {"seconds", measured.seconds},
           {"gflops", gflops},
           {"error_share_of_bound", measured.share},
           {"good", good},
           {"hash", format_hash(measured.hash)},
           {"kernels", kernels::use_library()}},
          fmt::format("{} {} x {} x {} on {} cores, {} ranks: {:.4f} s, {:.2f} GFLOP/s\n"
                      "check {}: error {:.3f} of the rounding bound; result hash: {}\n",
                      flags.algorithm, flags.m, flags.n, flags.k, to_string(fabric.mesh()), ranks,
                      measured.seconds, gflops, good ? "ok" : "FAILED", measured.share,
                      format_hash(measured.hash))};
}

int gemm(const Communicator& world, const GemmFlags& flags) {
  const Fabric fabric(world, flags.mesh.tiling(world), flags.mesh.threads);
  flags.output.check(world);
  const Measured measured = multiply(fabric, flags);
  flags.output.deliver(world, [&] { return to_result(flags, fabric, measured); });
  return static_cast<int>(measured.share <= 1.0 ? ExitCode::good : ExitCode::verification);
}

}  // namespace

void add_gemm(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("gemm", "one product on the mesh, checked by Freivalds' test");
  const auto flags = std::make_shared<GemmFlags>();
  flags->mesh.add_to(*command);
  flags->output.add_to(*command);
  const auto size = CLI::Range(Index{1}, Index{1} << 20);
  command->add_option("-m", flags->m, "rows of A and C")->check(size)->capture_default_str();
  command->add_option("-n", flags->n, "columns of B and C")->check(size)->capture_default_str();
  command->add_option("-k", flags->k, "columns of A, rows of B")->check(size)->capture_default_str();
  command->add_option("--algorithm", flags->algorithm, "mesh (C = A B) or mesh-t (C = A B^T)")
      ->check(CLI::IsMember({"mesh", "mesh-t"}))
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "of the matrices");
  command->footer("Example: mpirun -n 2 wafermesh gemm --mesh 8x8 -m 100 -n 77 -k 123");
  command->callback(
      [&chosen, flags] { chosen = [flags](const Communicator& world) { return gemm(world, *flags); }; });
}

}  // namespace wafer::app
