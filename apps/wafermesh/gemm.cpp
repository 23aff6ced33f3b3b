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
#include "study/benchmarked.hpp"
#include "study/freivalds.hpp"
#include "wafermesh/common.hpp"
#include "wafermesh/ledger.hpp"

namespace wafer::app {

using fabric::Blocks, fabric::Communicator, fabric::Fabric, fabric::Placement;
using plmr::Execution;

namespace {

struct GemmFlags {
  MeshFlags mesh;
  OutputFlags output;
  Index m = 256, n = 256, k = 256;
  std::string algorithm = "mesh";
  std::uint64_t seed = 0;
  DeviceFlags device;
  bool dry = false;
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

bool transposed(const GemmFlags& flags) { return flags.algorithm == "mesh-t"; }

std::pair<Placement, Placement> placements(const Fabric& fabric, const GemmFlags& flags) {
  const Partition k = Partition::even(flags.k, fabric.mesh().width);
  return {Placement::plain(Partition::even(flags.m, fabric.mesh().height), k),
          transposed(flags) ? ops::mesh_gemm_t_right(fabric, flags.n, k)
                            : ops::mesh_gemm_right(fabric, k, Partition::even(flags.n, fabric.mesh().width))};
}

Blocks multiply(const Fabric& fabric, const GemmFlags& flags, const Blocks& A, Blocks& B) {
  return transposed(flags) ? ops::mesh_gemm_t(fabric, A, B) : ops::mesh_gemm(fabric, A, B);
}

Measured measure(const Fabric& fabric, const GemmFlags& flags) {
  const Communicator& world = fabric.communicator();
  Blocks A, B;
  fabric::agree(world, [&] {  // memory may run out on some ranks only
    const auto [left, right] = placements(fabric, flags);
    A = Blocks(fabric, left);
    B = Blocks(fabric, right);
  });
  fill(A, flags.seed, 1);
  fill(B, flags.seed, 2);
  world.barrier();
  const double start = now();
  const Blocks C = multiply(fabric, flags, A, B);
  const double seconds = world.max(now() - start);
  return {seconds, study::freivalds(fabric, A, B, C, transposed(flags)), study::hash_of(fabric, C)};
}

// Cycles as they are measured on a wafer: mean over the cores of a run after one that warms up, with the
// alignment rounds of the paper's code.
double timed_cycles(const Execution& ledger, const GemmFlags& flags) {
  const Index bytes = ledger.cost().precision().element_bytes;
  Execution execution(ledger.device(), ledger.mesh(), {bytes, bytes == 2});
  return study::measured_cycles(execution, [&] {
    if (transposed(flags))
      study::timed_gemm_t(execution, flags.m, flags.k, flags.n);
    else
      study::timed_gemm(execution, flags.m, flags.k, flags.n);
  });
}

Result shape_of_result(const GemmFlags& flags, const Fabric& fabric) {
  const int ranks = fabric.communicator().size();
  return {{{"algorithm", flags.algorithm},
           {"m", flags.m},
           {"n", flags.n},
           {"k", flags.k},
           {"mesh", to_string(fabric.mesh())},
           {"ranks", ranks}},
          fmt::format("{} {} x {} x {} on {} cores, {} ranks", flags.algorithm, flags.m, flags.n, flags.k,
                      to_string(fabric.mesh()), ranks)};
}

void add_measured(Result& result, const GemmFlags& flags, const Measured& measured) {
  const double gflops = 2e-9 * static_cast<double>(flags.m) * static_cast<double>(flags.n) *
                        static_cast<double>(flags.k) / measured.seconds;
  const bool good = measured.share <= 1.0;
  result.json.update({{"seconds", measured.seconds},
                      {"gflops", gflops},
                      {"error_share_of_bound", measured.share},
                      {"good", good},
                      {"hash", format_hash(measured.hash)},
                      {"kernels", kernels::use_library()}});
  result.text += fmt::format(
      ": {:.4f} s, {:.2f} GFLOP/s\ncheck {}: error {:.3f} of the rounding bound; result hash: {}\n",
      measured.seconds, gflops, good ? "ok" : "FAILED", measured.share, format_hash(measured.hash));
}

void add_cycles(Result& result, const GemmFlags& flags, const Execution* execution) {
  if (execution == nullptr) return;
  const double cycles = timed_cycles(*execution, flags);
  result.json["cycles"] = cycles;
  result.text += fmt::format("{:.0f} cycles as the paper's benchmark measures, {:.3g} s on {}\n", cycles,
                             cycles / execution->device().clock_hz, execution->device().name);
  add_ledger(result, execution);
}

int gemm(const Communicator& world, const GemmFlags& flags) {
  if (flags.dry && !flags.device.given())
    throw UsageError({.what = "--dry counts a device's cycles", .remedy = "--device wse2"});
  const mesh::Tiling tiling = flags.mesh.tiling(world);
  const auto execution = flags.device.execution(world, tiling.mesh());
  const Fabric fabric(world, tiling, flags.mesh.threads, execution.get(), flags.dry);
  flags.output.check(world);
  std::optional<Measured> measured;
  if (flags.dry) {
    const auto [left, right] = placements(fabric, flags);
    Blocks B(fabric, right);
    multiply(fabric, flags, Blocks(fabric, left), B);
  } else {
    measured = measure(fabric, flags);
  }
  flags.output.deliver(world, [&] {
    Result result = shape_of_result(flags, fabric);
    if (measured)
      add_measured(result, flags, *measured);
    else
      result.text += ": dry run\n";
    add_cycles(result, flags, execution.get());
    return result;
  });
  return static_cast<int>(!measured || measured->share <= 1.0 ? ExitCode::good : ExitCode::verification);
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
  flags->device.add_to(*command);
  command->add_flag("--dry", flags->dry, "cycles only: no matrices");
  command->footer("Example: mpirun -n 2 wafermesh gemm --mesh 8x8 -m 100 -n 77 -k 123");
  command->callback(
      [&chosen, flags] { chosen = [flags](const Communicator& world) { return gemm(world, *flags); }; });
}

}  // namespace wafer::app
