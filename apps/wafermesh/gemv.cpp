// wafermesh gemv: one vector times a distributed matrix, checked.
#include "ops/gemv.hpp"

#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/random.hpp"
#include "fabric/agree.hpp"
#include "fabric/redistribute.hpp"
#include "kernels/gemm.hpp"
#include "study/benchmarked.hpp"
#include "wafermesh/common.hpp"
#include "wafermesh/ledger.hpp"

namespace wafer::app {

using fabric::Blocks, fabric::Communicator, fabric::Fabric, fabric::Placement;
using plmr::Execution;

namespace {

struct GemvFlags {
  MeshFlags mesh;
  OutputFlags output;
  DeviceFlags device;
  Index n = 256, k = 256;
  Index groups = 0;
  Index levels = 2;
  std::uint64_t seed = 0;
  bool dry = false;
};

float element(std::uint64_t seed, std::uint64_t stream, Index number) {
  return static_cast<float>(2.0 * Random(seed, stream).uniform(static_cast<std::uint64_t>(number)) - 1.0);
}

struct Measured {
  double seconds = 0.0;
  double share = 0.0;  // the largest error, of what rounding allows
};

// Largest error of c over its bound k eps sum |a b|, in double.
double check(const Fabric& fabric, const GemvFlags& flags, const Blocks& a, const Blocks& B,
             const Blocks& c) {
  std::vector<double> exact(at(flags.n), 0.0), scale(at(flags.n), 0.0);
  fabric.for_cores([&](mesh::CoreCoord core) {
    const auto block = B(core.y, core.x);
    const auto columns = B.placement().cols().indices(core.x);
    for (Index r = 0; r < block.rows(); ++r)
      for (Index j = 0; j < block.cols(); ++j) {
        const double product =
            static_cast<double>(a.vector(core.y)[at(r)]) * static_cast<double>(block(r, j));
        exact[at(columns[at(j)])] += product;
        scale[at(columns[at(j)])] += std::abs(product);
      }
  });
  const Communicator& world = fabric.communicator();
  world.sum(exact);
  world.sum(scale);
  const auto whole = fabric::gather(fabric, c);
  double most = 0.0;
  for (std::size_t j = 0; j < whole.size(); ++j) {
    const double bound = (static_cast<double>(flags.k) + 2.0) * std::ldexp(1.0, -24) * scale[j];
    const double error = std::abs(static_cast<double>(whole[j]) - exact[j]);
    const double share = error == 0.0 ? 0.0 : error / bound;
    most = share <= most ? most : share;  // NaN counts
  }
  if (std::isnan(most)) most = INFINITY;
  return world.max(world.is_root() ? most : 0.0);
}

std::pair<Blocks, Blocks> operands(const Fabric& fabric, const GemvFlags& flags) {
  const Partition rows = Partition::even(flags.k, fabric.mesh().height);
  return {Blocks(fabric, Placement::copied(mesh::Axis::x, rows)),
          Blocks(fabric, Placement::plain(rows, Partition::even(flags.n, fabric.mesh().width)))};
}

Measured measure(const Fabric& fabric, const GemvFlags& flags, const fabric::AllReduce& columns) {
  const Communicator& world = fabric.communicator();
  Blocks a, B;
  fabric::agree(world, [&] { std::tie(a, B) = operands(fabric, flags); });
  fabric.without_threads().for_cores([&](mesh::CoreCoord core) {
    const Index first = a.placement().cols().offset(core.y);
    const Index left = B.placement().cols().offset(core.x);
    const auto block = B(core.y, core.x);
    for (Index r = 0; r < block.rows(); ++r) {
      a.vector(core.y)[at(r)] = element(flags.seed, 1, first + r);
      for (Index j = 0; j < block.cols(); ++j)
        block(r, j) = element(flags.seed, 2, (first + r) * flags.n + left + j);
    }
  });
  world.barrier();
  const double start = now();
  const Blocks c = ops::mesh_gemv(fabric, mesh::Axis::y, columns, a, B);
  const double seconds = world.max(now() - start);
  return {seconds, check(fabric.without_threads(), flags, a, B, c)};
}

// As it is measured on a wafer: mean over the cores of a run after one that warms up.
double timed_cycles(const Execution& ledger, const GemvFlags& flags) {
  Execution execution(ledger.device(), ledger.mesh(), ledger.cost().precision());
  const mesh::KTree tree(ledger.mesh().height, flags.levels, flags.groups);
  return study::measured_cycles(execution, [&] { study::timed_gemv(execution, flags.k, flags.n, tree); });
}

Result to_result(const GemvFlags& flags, const Fabric& fabric, const std::optional<Measured>& measured) {
  const int ranks = fabric.communicator().size();
  Result result = {
      {{"algorithm", "k-tree"},
       {"n", flags.n},
       {"k", flags.k},
       {"groups", flags.groups},
       {"levels", flags.levels},
       {"mesh", to_string(fabric.mesh())},
       {"ranks", ranks}},
      fmt::format("gemv {} x {} on {} cores, {} ranks", flags.k, flags.n, to_string(fabric.mesh()), ranks)};
  if (measured) {
    const double gflops =
        2e-9 * static_cast<double>(flags.n) * static_cast<double>(flags.k) / measured->seconds;
    result.json.update({{"seconds", measured->seconds},
                        {"gflops", gflops},
                        {"error_share_of_bound", measured->share},
                        {"good", measured->share <= 1.0},
                        {"kernels", kernels::use_library()}});
    result.text +=
        fmt::format(": {:.6f} s, {:.2f} GFLOP/s\ncheck {}: error {:.3f} of the rounding bound\n",
                    measured->seconds, gflops, measured->share <= 1.0 ? "ok" : "FAILED", measured->share);
  } else {
    result.text += ": dry run\n";
  }
  if (const Execution* execution = fabric.execution(); execution != nullptr) {
    const double cycles = timed_cycles(*execution, flags);
    result.json["cycles"] = cycles;
    result.text += fmt::format("{:.0f} cycles as the paper's benchmark measures, {:.3g} s on {}\n", cycles,
                               cycles / execution->device().clock_hz, execution->device().name);
    add_ledger(result, execution);
  }
  return result;
}

int gemv(const Communicator& world, const GemvFlags& flags) {
  if (flags.dry && !flags.device.given())
    throw UsageError({.what = "--dry counts a device's cycles", .remedy = "--device wse2"});
  const mesh::Tiling tiling = flags.mesh.tiling(world);
  if (flags.groups > tiling.mesh().height)
    throw FitError({.what = "--groups",
                    .got = std::to_string(flags.groups),
                    .expected = fmt::format("at most one group a row: {}", tiling.mesh().height)});
  const auto execution = flags.device.execution(world, tiling.mesh());
  const Fabric fabric(world, tiling, flags.mesh.threads, execution.get(), flags.dry);
  flags.output.check(world);
  const auto columns = fabric::AllReduce::of_lines(fabric, mesh::Axis::y, {flags.levels, flags.groups});
  std::optional<Measured> measured;
  if (flags.dry) {
    const auto [a, B] = operands(fabric, flags);
    ops::mesh_gemv(fabric, mesh::Axis::y, columns, a, B);
  } else {
    measured = measure(fabric, flags, columns);
  }
  flags.output.deliver(world, [&] { return to_result(flags, fabric, measured); });
  return static_cast<int>(!measured || measured->share <= 1.0 ? ExitCode::good : ExitCode::verification);
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
  command
      ->add_option("--groups", flags->groups,
                   "groups of the K-tree's first level; 0: near the root of the rows")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--levels", flags->levels, "K: levels of the tree")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "of the operands");
  command->add_flag("--dry", flags->dry, "cycles only: no operands");
  command->footer("Example: mpirun -n 2 wafermesh gemv --mesh 8x8 -n 77 -k 123 --device wse2");
  command->callback(
      [&chosen, flags] { chosen = [flags](const Communicator& world) { return gemv(world, *flags); }; });
}

}  // namespace wafer::app
