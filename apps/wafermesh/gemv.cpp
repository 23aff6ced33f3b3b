// wafermesh gemv: one vector times a distributed matrix, checked.
#include <memory>

#include <fmt/format.h>

#include "study/benchmarked.hpp"
#include "wafermesh/common.hpp"
#include "wafermesh/measured.hpp"
#include "wafermesh/reduce_flags.hpp"

namespace wafer::app {

using fabric::Communicator, fabric::Fabric;
using plmr::Execution;

namespace {

struct GemvFlags {
  MeshFlags mesh;
  OutputFlags output;
  DeviceFlags device;
  ReduceFlags reduce;
  Index n = 256, k = 256;
  std::uint64_t seed = 0;
  bool dry = false;
};

// As it is measured on a wafer: mean over the cores of a run after one that warms up.
double timed_cycles(const Fabric& fabric, const study::GemvProblem& problem) {
  const Execution& ledger = *fabric.execution();
  Execution execution(ledger.device(), ledger.mesh(), ledger.cost().precision());
  const fabric::AllReduceAlgorithm& algorithm = problem.reduce.chosen();
  if (algorithm.tree != nullptr) {
    const auto tree = algorithm.tree(ledger.mesh().height, problem.reduce);
    return study::measured_cycles(execution,
                                  [&] { study::timed_gemv(execution, problem.k, problem.n, tree); });
  }
  const Fabric dry(fabric.communicator(), fabric.tiling(), 1, &execution, true);
  const auto work = study::make_gemv(dry, problem);
  return study::measured_cycles(execution, [&] { work->run(); });
}

int gemv(const Communicator& world, const GemvFlags& flags) {
  check_dry(flags.dry, flags.device);
  const mesh::Tiling tiling = flags.mesh.tiling(world);
  const auto execution = flags.device.execution(world, tiling.mesh());
  const Fabric fabric(world, tiling, flags.mesh.threads, execution.get(), flags.dry);
  flags.output.check(world);
  study::GemvProblem problem{{}, flags.n, flags.k, flags.seed};
  const auto cycles_with = [&](const fabric::ReduceShape& shape) {
    problem.reduce = shape;
    return timed_cycles(fabric, problem);
  };
  problem.reduce = flags.reduce.shape(fabric, tiling.mesh().height, cycles_with);
  const auto work = study::make_gemv(fabric, problem);
  const auto measured = run_once(fabric, *work);
  flags.output.deliver(world, [&] {
    Result result = {
        {{"n", flags.n}, {"k", flags.k}, {"mesh", to_string(fabric.mesh())}, {"ranks", world.size()}},
        fmt::format("gemv {} x {} on {} cores, {} ranks, {}", flags.k, flags.n, to_string(fabric.mesh()),
                    world.size(), to_text(problem.reduce, tiling.mesh().height))};
    result.json.update(to_json(problem.reduce, tiling.mesh().height));
    add_run(result, fabric, *work, measured, [&] { return timed_cycles(fabric, problem); });
    return result;
  });
  return exit_code(measured);
}

}  // namespace

void add_gemv(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("gemv", "one vector times a matrix on the mesh, checked");
  const auto flags = std::make_shared<GemvFlags>();
  flags->mesh.add_to(*command);
  flags->output.add_to(*command);
  flags->device.add_to(*command);
  const auto size = CLI::Range(Index{1}, Index{1} << 20);
  command->add_option("-n", flags->n, "columns of B")->check(size)->capture_default_str();
  command->add_option("-k,-m", flags->k, "length of a, rows of B")->check(size)->capture_default_str();
  flags->reduce.add_to(*command, "--allreduce");
  command->add_option("--seed", flags->seed, "of the operands");
  command->add_flag("--dry", flags->dry, "cycles only: no operands");
  command->footer("Example: mpirun -n 2 wafermesh gemv --mesh 8x8 -n 77 -k 123 --device wse2 --groups auto");
  command->callback(
      [&chosen, flags] { chosen = [flags](const Communicator& world) { return gemv(world, *flags); }; });
}

}  // namespace wafer::app
