// wafermesh gemm: one distributed product, checked.
#include "ops/gemm.hpp"

#include <memory>

#include <fmt/format.h>

#include "study/benchmarked.hpp"
#include "wafermesh/common.hpp"
#include "wafermesh/measured.hpp"

namespace wafer::app {

using fabric::Communicator, fabric::Fabric;
using plmr::Execution;

namespace {

struct GemmFlags {
  MeshFlags mesh;
  OutputFlags output;
  study::GemmProblem problem{"mesh", 256, 256, 256, 0};
  DeviceFlags device;
  bool dry = false;
};

// Cycles as they are measured on a wafer: mean over the cores of a run after one that warms up; for MeshGEMM
// with the alignment rounds of the paper's code.
double timed_cycles(const Fabric& fabric, const study::GemmProblem& problem) {
  const Execution& ledger = *fabric.execution();
  const Index bytes = ledger.cost().precision().element_bytes;
  const bool transposed = problem.algorithm == "mesh-t";
  const bool of_the_paper = problem.algorithm == "mesh" || transposed;
  Execution execution(ledger.device(), ledger.mesh(), {bytes, of_the_paper && bytes == 2});
  const Fabric dry(fabric.communicator(), fabric.tiling(), 1, &execution, true);
  const auto work = study::make_gemm(dry, problem);
  return study::measured_cycles(execution, [&] {
    if (transposed) return study::timed_gemm_t(execution, problem.m, problem.k, problem.n);
    if (of_the_paper) return study::timed_gemm(execution, problem.m, problem.k, problem.n);
    work->run();
  });
}

int gemm(const Communicator& world, const GemmFlags& flags) {
  check_dry(flags.dry, flags.device);
  const mesh::Tiling tiling = flags.mesh.tiling(world);
  const auto execution = flags.device.execution(world, tiling.mesh());
  const Fabric fabric(world, tiling, flags.mesh.threads, execution.get(), flags.dry);
  flags.output.check(world);
  const study::GemmProblem& problem = flags.problem;
  const auto work = study::make_gemm(fabric, problem);
  const auto measured = run_once(fabric, *work);
  flags.output.deliver(world, [&] {
    Result result = {{{"algorithm", problem.algorithm},
                      {"m", problem.m},
                      {"n", problem.n},
                      {"k", problem.k},
                      {"mesh", to_string(fabric.mesh())},
                      {"ranks", world.size()}},
                     fmt::format("{} {} x {} x {} on {} cores, {} ranks", problem.algorithm, problem.m,
                                 problem.n, problem.k, to_string(fabric.mesh()), world.size())};
    add_run(result, fabric, *work, measured, [&] { return timed_cycles(fabric, problem); });
    return result;
  });
  return exit_code(measured);
}

}  // namespace

void add_gemm(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("gemm", "one product on the mesh, checked by Freivalds' test");
  const auto flags = std::make_shared<GemmFlags>();
  study::GemmProblem& problem = flags->problem;
  flags->mesh.add_to(*command);
  flags->output.add_to(*command);
  const auto size = CLI::Range(Index{1}, Index{1} << 20);
  command->add_option("-m", problem.m, "rows of A and C")->check(size)->capture_default_str();
  command->add_option("-n", problem.n, "columns of B and C")->check(size)->capture_default_str();
  command->add_option("-k", problem.k, "columns of A, rows of B")->check(size)->capture_default_str();
  command->add_option("--algorithm", problem.algorithm, "of C = A B; or mesh-t, for C = A B^T")
      ->check(CLI::IsMember(gemm_names()))
      ->capture_default_str();
  command->add_option("--seed", problem.seed, "of the matrices");
  flags->device.add_to(*command);
  command->add_flag("--dry", flags->dry, "cycles only: no matrices");
  command->footer("Example: mpirun -n 2 wafermesh gemm --mesh 8x8 -m 100 -n 77 -k 123 --algorithm cannon");
  command->callback(
      [&chosen, flags] { chosen = [flags](const Communicator& world) { return gemm(world, *flags); }; });
}

}  // namespace wafer::app
