// wafermesh scale: one operation over numbers of ranks, meshes, sizes and algorithms, inside one launch.
#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "core/error.hpp"
#include "wafermesh/common.hpp"
#include "wafermesh/scale_case.hpp"
#include "wafermesh/scale_report.hpp"

namespace wafer::app {

using fabric::Communicator;

namespace {

struct ScaleFlags {
  ScaleSettings settings;
  OutputFlags output;
  std::vector<int> ranks;
  std::vector<std::string> meshes = {"8x8"};
  std::vector<Index> sizes;
  std::vector<std::string> algorithms;
  bool strong = false;  // what is meant without a flag, too
  bool weak = false;
  int reps = 10;
  std::string compare;
  double tolerance = 0.1;
};

std::vector<int> ranks_of(const ScaleFlags& flags, int launched) {
  std::vector<int> ranks = flags.ranks;
  if (ranks.empty())
    for (int r = 1; r <= launched; r *= 2) ranks.push_back(r);
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  if (ranks.front() < 1 || ranks.back() > launched)
    throw UsageError({.what = "--ranks",
                      .got = std::to_string(ranks.front() < 1 ? ranks.front() : ranks.back()),
                      .expected = fmt::format("1 to the {} ranks of this launch", launched),
                      .remedy = fmt::format("mpirun -n {}", std::max(ranks.back(), 1))});
  return ranks;
}

// All of them, with the sizes that weak scaling gives each number of ranks.
std::vector<ScalePoint> points_of(const ScaleFlags& flags, const std::vector<int>& ranks) {
  const ScaleOperation& operation = scale_operation(flags.settings.op);
  if (flags.weak && operation.growth <= 0.0)
    throw UsageError({.what = "--weak",
                      .got = flags.settings.op,
                      .expected = "an operation whose size can grow: the model gives the work of a token"});
  const auto sizes = flags.sizes.empty() ? std::vector<Index>{operation.usual_size} : flags.sizes;
  const auto names = flags.algorithms.empty() ? std::vector{operation.usual_algorithm} : flags.algorithms;
  const auto known = operation.algorithms();
  for (const std::string& name : names)
    if (known.count(name) == 0)
      throw UsageError({.what = "--algorithms",
                        .got = "\"" + name + "\"",
                        .expected = fmt::format("{}", fmt::join(known, ", "))});
  std::vector<ScalePoint> points;
  for (const std::string& name : names)
    for (const std::string& mesh : flags.meshes)
      for (const Index size : sizes)
        for (const int r : ranks) {
          const double more = static_cast<double>(r) / static_cast<double>(ranks.front());
          const double grown = flags.weak ? std::pow(more, operation.growth) : 1.0;
          points.push_back({name, mesh::parse_mesh(mesh, "--mesh"), size,
                            static_cast<Index>(std::llround(static_cast<double>(size) * grown)), r});
        }
  return points;
}

// One more repetition of a case; the ranks that have no part in it sleep.
void repeat(const Communicator& world, ScaleCase& one, ScaleRow& row, bool counts) {
  world.barrier();
  const double seconds = one.run();  // of the slowest rank
  world.barrier();
  if (counts) row.samples.push_back(seconds);
}

std::vector<ScaleRow> measure(const Communicator& world, const ScaleFlags& flags,
                              const std::vector<ScalePoint>& points) {
  std::vector<std::unique_ptr<ScaleCase>> cases;
  std::vector<ScaleRow> rows;
  for (const ScalePoint& point : points) {
    show_progress(world, flags.output.quiet, fmt::format("making {} of {}", cases.size() + 1, points.size()));
    cases.push_back(std::make_unique<ScaleCase>(world, flags.settings, point));
    rows.emplace_back().point = point;
  }
  for (int rep = -1; rep < flags.reps; ++rep) {  // the first one warms up
    for (std::size_t c = 0; c < cases.size(); ++c) {
      show_progress(
          world, flags.output.quiet,
          rep < 0 ? fmt::format("warm-up, {} of {}", c + 1, cases.size())
                  : fmt::format("repetition {} of {}, {} of {}", rep + 1, flags.reps, c + 1, cases.size()));
      repeat(world, *cases[c], rows[c], rep >= 0);
    }
  }
  for (std::size_t c = 0; c < cases.size(); ++c) {
    cases[c]->finish(rows[c]);
    world.barrier();
  }
  show_progress(world, flags.output.quiet, "");
  return rows;
}

int scale(const Communicator& world, ScaleFlags flags) {
  if (flags.strong && flags.weak) throw UsageError({.what = "--strong and --weak exclude each other"});
  const auto points = points_of(flags, ranks_of(flags, world.size()));
  flags.output.check(world);
  for (const ScalePoint& point : points)
    flags.settings.device.execution(world, point.mesh);  // whether it fits
  ScaleReport report;
  report.context = context_of(world, flags.settings);
  report.context["reps"] = flags.reps;
  report.op = flags.settings.op;
  report.weak = flags.weak;
  report.earlier = read_earlier(world, flags.compare);
  report.tolerance = flags.tolerance;
  report.cpus = report.context["cpus"];
  report.threads = flags.settings.threads;
  report.rows = measure(world, flags, points);
  complete(report);
  flags.output.deliver(world, [&] { return to_result(report); });
  const bool good =
      std::all_of(report.rows.begin(), report.rows.end(), [](const ScaleRow& row) { return row.good; });
  const ExitCode code = !good               ? ExitCode::verification
                        : report.slower > 0 ? ExitCode::slower
                                            : ExitCode::good;
  return static_cast<int>(world.broadcast(static_cast<std::int64_t>(code), {0}));
}

}  // namespace

void add_scale(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("scale", "one operation over ranks, meshes, sizes and algorithms");
  const auto flags = std::make_shared<ScaleFlags>();
  flags->output.add_to(*command);
  flags->settings.add_to(*command);
  command->add_option("--ranks", flags->ranks, "numbers of ranks, 1,2,4 (default: powers of two)")
      ->delimiter(',');
  command->add_option("--mesh", flags->meshes, "emulated cores, 8x8,32x32")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option("--sizes", flags->sizes,
                   "side of the matrices; numbers a core of an all-reduce; tokens of a model")
      ->delimiter(',')
      ->check(CLI::Range(Index{1}, Index{1} << 20));
  command
      ->add_option("--algorithms", flags->algorithms,
                   "of gemm and of a model's prefill; of all-reduces otherwise")
      ->delimiter(',');
  command->add_flag("--strong", flags->strong, "the same size on every number of ranks (default)");
  command->add_flag("--weak", flags->weak, "sizes grow, so that every rank keeps its work");
  command->add_option("--reps", flags->reps, "repetitions, interleaved, after one that warms up")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--compare", flags->compare, "an earlier result (.json or .h5): exit code 6 if slower");
  command->add_option("--tolerance", flags->tolerance, "of medians, for --compare")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  command->footer(
      "Example: mpirun -n 2 wafermesh scale --op gemm --mesh 8x8 --sizes 256 --algorithms mesh,cannon --reps "
      "5");
  command->callback(
      [&chosen, flags] { chosen = [flags](const Communicator& world) { return scale(world, *flags); }; });
}

}  // namespace wafer::app
