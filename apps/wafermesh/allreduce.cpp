// wafermesh allreduce: every line of the mesh adds up, checked.
#include <memory>

#include <fmt/format.h>

#include "core/error.hpp"
#include "study/benchmarked.hpp"
#include "wafermesh/common.hpp"
#include "wafermesh/measured.hpp"
#include "wafermesh/reduce_flags.hpp"

namespace wafer::app {

using fabric::Communicator, fabric::Fabric;
using plmr::Execution;

namespace {

struct AllReduceFlags {
  MeshFlags mesh;
  OutputFlags output;
  DeviceFlags device;
  ReduceFlags reduce;
  Index length = 256;
  std::string axis = "y";
  std::string operation = "sum";
  bool to_root = false;
  bool dry = false;
};

// Mean over the cores of a run after one that warms up.
double timed_cycles(const Fabric& fabric, const study::AllReduceProblem& problem) {
  const Execution& ledger = *fabric.execution();
  Execution execution(ledger.device(), ledger.mesh(), ledger.cost().precision());
  const Fabric dry(fabric.communicator(), fabric.tiling(), 1, &execution, true);
  const auto work = study::make_all_reduce(dry, problem);
  return study::measured_cycles(execution, [&] { work->run(); });
}

int allreduce(const Communicator& world, const AllReduceFlags& flags) {
  check_dry(flags.dry, flags.device);
  const mesh::Tiling tiling = flags.mesh.tiling(world);
  const auto execution = flags.device.execution(world, tiling.mesh());
  const Fabric fabric(world, tiling, flags.mesh.threads, execution.get(), flags.dry);
  flags.output.check(world);
  study::AllReduceProblem problem{{},
                                  flags.axis == "x" ? mesh::Axis::x : mesh::Axis::y,
                                  flags.length,
                                  flags.operation == "max",
                                  !flags.to_root};
  const Index cores = tiling.mesh().length(problem.axis);
  const auto cycles_with = [&](const fabric::ReduceShape& shape) {
    problem.reduce = shape;
    return timed_cycles(fabric, problem);
  };
  problem.reduce = flags.reduce.shape(fabric, cores, cycles_with);
  const auto work = study::make_all_reduce(fabric, problem);
  const auto measured = run_once(fabric, *work);
  flags.output.deliver(world, [&] {
    Result result = {{{"length", flags.length},
                      {"axis", flags.axis},
                      {"operation", flags.operation},
                      {"broadcast", problem.broadcast},
                      {"mesh", to_string(fabric.mesh())},
                      {"ranks", world.size()}},
                     fmt::format("{} of {} numbers a core along {} on {} cores, {} ranks, {}",
                                 flags.operation, flags.length, flags.axis, to_string(fabric.mesh()),
                                 world.size(), to_text(problem.reduce, cores))};
    result.json.update(to_json(problem.reduce, cores));
    add_run(result, fabric, *work, measured, [&] { return timed_cycles(fabric, problem); });
    return result;
  });
  return exit_code(measured);
}

}  // namespace

void add_allreduce(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("allreduce", "every line of the mesh adds up, checked");
  const auto flags = std::make_shared<AllReduceFlags>();
  flags->mesh.add_to(*command);
  flags->output.add_to(*command);
  flags->device.add_to(*command);
  command->add_option("-n", flags->length, "numbers of each core")
      ->check(CLI::Range(Index{1}, Index{1} << 24))
      ->capture_default_str();
  command->add_option("--axis", flags->axis, "lines along x, the rows, or y, the columns")
      ->check(CLI::IsMember({"x", "y"}))
      ->capture_default_str();
  command->add_option("--op", flags->operation, "sum or max")
      ->check(CLI::IsMember({"sum", "max"}))
      ->capture_default_str();
  flags->reduce.add_to(*command, "--algorithm");
  command->add_flag("--to-root", flags->to_root, "the result stays at the root: no final broadcast");
  command->add_flag("--dry", flags->dry, "cycles only: no numbers");
  command->footer(
      "Example: mpirun -n 2 wafermesh allreduce --mesh 9x7 -n 100 --algorithm ring --device wse2");
  command->callback(
      [&chosen, flags] { chosen = [flags](const Communicator& world) { return allreduce(world, *flags); }; });
}

}  // namespace wafer::app
