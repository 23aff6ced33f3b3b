// wafermesh bench: pairs of measurements in one launch, as ratios, which noisy machines leave alone most.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "core/error.hpp"
#include "study/sampling.hpp"
#include "wafermesh/bench_case.hpp"
#include "wafermesh/common.hpp"
#include "wafermesh/scale_report.hpp"

namespace wafer::app {

using fabric::Communicator;
using study::Summary;

namespace {

struct BenchFlags {
  OutputFlags output;
  BenchSettings settings;
  std::vector<std::string> cases;
  std::optional<int> reps;
};

constexpr int least_pairs = 7, most_pairs = 101;
constexpr double long_enough = 5.0;  // [s] of measuring: the shorter a case, the more its single times spread

bool enough(const BenchFlags& flags, int pairs, double seconds) {
  if (flags.reps) return pairs >= *flags.reps;
  return pairs >= most_pairs || (pairs >= least_pairs && seconds >= long_enough);
}

struct Measurement {
  const BenchCase* of = nullptr;
  std::vector<double> subject, baseline, ratios;  // (reps)
  double baseline_rate = 0.0;
  const char* baseline_unit = "";
  int baseline_cpus = 0;
  bool good = false;
  std::string remark;
  // What the bound is of: the ratio of the medians, or seconds.
  double figure() const {
    const double own = study::summarise(subject).median;
    return baseline.empty() ? own : own / study::summarise(baseline).median;
  }
  bool met() const { return figure() <= of->at_most; }
};

Measurement measure(const Communicator& world, const BenchFlags& flags, const BenchCase& one) {
  show_progress(world, flags.output.quiet, fmt::format("{} is made", one.name));
  const Contest contest = one.make(world, flags.settings);
  Measurement found{&one, {}, {}, {}, 0.0, contest.baseline_unit, contest.baseline_cpus, false, {}};
  double spent = 0.0;
  for (int rep = -1; rep < 0 || !enough(flags, rep, spent); ++rep) {  // the first one warms up
    show_progress(world, flags.output.quiet, fmt::format("{}, pair {}", one.name, rep + 1));
    std::array<double, 2> seconds{};
    const bool subject_first = rep % 2 != 0 || !contest.baseline;  // in turn
    if (subject_first) seconds[0] = contest.subject();
    if (contest.baseline) seconds[1] = contest.baseline();
    if (!subject_first) seconds[0] = contest.subject();
    if (rep < 0) continue;
    spent = world.max(spent + seconds[0] + seconds[1]);  // the same on every rank
    found.subject.push_back(seconds[0]);
    if (!contest.baseline) continue;
    found.baseline.push_back(seconds[1]);
    found.ratios.push_back(seconds[0] / seconds[1]);
  }
  found.good = contest.good();
  found.remark = contest.remark();
  if (contest.baseline) found.baseline_rate = contest.baseline_work / study::summarise(found.baseline).median;
  show_progress(world, flags.output.quiet, "");
  return found;
}

io::Json to_json(const Measurement& found) {
  io::Json json = {{"case", found.of->name},   {"what", found.of->what},
                   {"seconds", found.subject}, {"median", study::summarise(found.subject).median},
                   {"figure", found.figure()}, {"at_most", found.of->at_most},
                   {"met", found.met()},       {"good", found.good}};
  if (!found.remark.empty()) json["remark"] = found.remark;
  if (found.baseline.empty()) return json;
  const Summary pairs = study::summarise(found.ratios);
  json.update({{"baseline", found.of->beside},
               {"baseline_seconds", found.baseline},
               {"baseline_median", study::summarise(found.baseline).median},
               {"baseline_rate", found.baseline_rate},
               {"baseline_unit", found.baseline_unit},
               {"baseline_cpus", found.baseline_cpus},
               {"pairs_median", pairs.median},
               {"pairs_low", pairs.low},
               {"pairs_high", pairs.high}});
  return json;
}

std::string to_text(const Measurement& found) {
  const double own = study::summarise(found.subject).median;
  std::string text = fmt::format("{}: {}\n", found.of->name, found.of->what);
  if (found.baseline.empty()) {
    text += fmt::format("  {:.5f} s, at most {:g}", own, found.of->at_most);
  } else {
    const Summary pairs = study::summarise(found.ratios);
    text += fmt::format("  {:.5f} s; {} {:.5f} s ({:.1f} {} on {} CPUs)\n", own, found.of->beside,
                        study::summarise(found.baseline).median, found.baseline_rate, found.baseline_unit,
                        found.baseline_cpus);
    text += fmt::format("  ratio {:.3f}, at most {:.3f}; of the pairs {:.3f} [{:.3f}, {:.3f}]",
                        found.figure(), found.of->at_most, pairs.median, pairs.low, pairs.high);
  }
  text += found.met() ? "  met" : "  MISSED";
  if (!found.remark.empty()) text += "\n  " + found.remark;
  return text + (found.good ? "\n" : "\n  WRONG RESULT\n");
}

Result to_result(const std::vector<Measurement>& all, io::Json context) {
  Result result;
  result.json = {{"context", std::move(context)}, {"cases", io::Json::array()}};
  result.csv = "case,seconds,baseline_seconds,figure,at_most,met\n";
  for (const Measurement& found : all) {
    result.json["cases"].push_back(to_json(found));
    result.text += to_text(found);
    const std::string baseline =
        found.baseline.empty() ? "" : fmt::format("{}", study::summarise(found.baseline).median);
    result.csv += fmt::format("{},{},{},{},{},{}\n", found.of->name, study::summarise(found.subject).median,
                              baseline, found.figure(), found.of->at_most, found.met());
  }
  return result;
}

// Those that were named, or all that this number of ranks can run.
std::vector<const BenchCase*> chosen_cases(const Communicator& world, const BenchFlags& flags) {
  std::vector<const BenchCase*> chosen;
  for (const BenchCase& one : bench_cases()) {
    const bool named = std::count(flags.cases.begin(), flags.cases.end(), one.name) > 0;
    if (!named && !flags.cases.empty()) continue;
    if (one.ranks == 0 || one.ranks == world.size())
      chosen.push_back(&one);
    else if (named)
      throw FitError({.what = "the case " + one.name + " is for another number of ranks",
                      .got = std::to_string(world.size()),
                      .expected = fmt::format("mpirun -n {}", one.ranks)});
  }
  return chosen;
}

int bench(const Communicator& world, const BenchFlags& flags) {
  flags.output.check(world);
  ScaleSettings settings;
  settings.threads = flags.settings.threads;
  settings.device = flags.settings.device;
  const io::Json context = context_of(world, settings);
  std::vector<Measurement> all;
  for (const BenchCase* one : chosen_cases(world, flags)) all.push_back(measure(world, flags, *one));
  flags.output.deliver(world, [&] { return to_result(all, context); });
  const bool good = std::all_of(all.begin(), all.end(), [](const Measurement& found) { return found.good; });
  return static_cast<int>(good ? ExitCode::good : ExitCode::verification);
}

}  // namespace

void add_bench(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("bench", "the standard speed measurements: ratios, interleaved in one launch");
  const auto flags = std::make_shared<BenchFlags>();
  flags->output.add_to(*command);
  flags->settings.device.add_to(*command, "wse2");
  std::set<std::string> names;
  for (const BenchCase& one : bench_cases()) names.insert(one.name);
  command->add_option("cases", flags->cases, "which (default: all that are for this number of ranks)")
      ->check(CLI::IsMember(names));
  command
      ->add_option("--reps", flags->reps,
                   fmt::format("pairs, after one that warms up (default: {} to {}, for {:g} s)", least_pairs,
                               most_pairs, long_enough))
      ->check(CLI::Range(1, 100000));
  command->add_option("--threads", flags->settings.threads, "threads of each rank")
      ->check(CLI::Range(1, 1024));
  command->footer("Example: mpirun -n 2 wafermesh bench device-decode --reps 3");
  command->callback(
      [&chosen, flags] { chosen = [flags](const Communicator& world) { return bench(world, *flags); }; });
}

}  // namespace wafer::app
