// wafermesh bench: pairs of measurements in one launch, as ratios, which noisy machines leave alone most.
#include <algorithm>
#include <array>
#include <memory>

#include <fmt/format.h>

#include "core/error.hpp"
#include "study/sampling.hpp"
#include "study/workload.hpp"
#include "wafermesh/common.hpp"
#include "wafermesh/scale_report.hpp"

namespace wafer::app {

using fabric::Communicator, fabric::Fabric;
using study::Summary, study::Workload;

namespace {

struct BenchFlags {
  OutputFlags output;
  DeviceFlags device;
  std::vector<std::string> cases;
  int reps = 15;
  int threads = 1;
};

// The same work without and with the device model, both alive at once, so that they share what the machine
// does to them. A model is timed as `generate` does: a dry run counts the cycles of the same steps.
class Pair {
public:
  virtual ~Pair() = default;
  Workload& plain() { return *plain_; }
  Workload& timed() { return *timed_; }

protected:
  std::unique_ptr<plmr::Execution> execution_;
  std::unique_ptr<Workload> plain_, timed_;
};

class GemmPair : public Pair {
public:
  GemmPair(const Communicator& world, const BenchFlags& flags, mesh::Mesh mesh, Index n) {
    execution_ = flags.device.execution(world, mesh);
    const mesh::Tiling tiling(mesh, world.size());
    fabrics_ = {std::make_unique<Fabric>(world, tiling, flags.threads),
                std::make_unique<Fabric>(world, tiling, flags.threads, execution_.get())};
    plain_ = study::make_gemm(*fabrics_[0], {"mesh", n, n, n, 0});
    timed_ = study::make_gemm(*fabrics_[1], {"mesh", n, n, n, 0});
  }

private:
  std::array<std::unique_ptr<Fabric>, 2> fabrics_;
};

class Both : public Workload {
public:
  Both(Workload& real, std::unique_ptr<Workload> dry) : real_(real), dry_(std::move(dry)) {}
  void prepare() override {
    real_.prepare();
    dry_->prepare();
  }
  void run() override {
    real_.run();
    dry_->run();
  }
  std::uint64_t hash() override { return real_.hash(); }
  double flops() const override { return real_.flops(); }

private:
  Workload& real_;
  std::unique_ptr<Workload> dry_;
};

class ModelPair : public Pair {
public:
  using Make = decltype(&study::make_decode);
  ModelPair(const Communicator& world, const BenchFlags& flags, mesh::Mesh mesh, Index tokens, Make make)
      : checkpoint_(open_model(world, default_model())) {
    execution_ = flags.device.execution(world, mesh);
    model::Options options;
    options.prefill_mesh = options.decode_mesh = mesh;
    options.threads = flags.threads;
    const checkpoint::ModelConfig& config = checkpoint_.config();
    real_ = std::make_unique<model::Transformer>(world, checkpoint_, options, true);
    options.prefill_execution = options.decode_execution = execution_.get();
    dry_ = std::make_unique<model::Transformer>(world, config, options);
    const study::ModelProblem problem{8, tokens};
    plain_ = make(world, *real_, config, problem);
    timed_ = std::make_unique<Both>(*plain_, make(world, *dry_, config, problem));
  }

private:
  checkpoint::Checkpoint checkpoint_;
  std::unique_ptr<model::Transformer> real_, dry_;
};

struct Case {
  std::string name;
  std::string what;
  std::unique_ptr<Pair> (*make)(const Communicator&, const BenchFlags&);
};

const std::array cases = {
    Case{"device-gemm", "3960 x 3960 x 3960 on 360x360",
         [](const Communicator& world, const BenchFlags& flags) -> std::unique_ptr<Pair> {
           return std::make_unique<GemmPair>(world, flags, mesh::Mesh{360, 360}, 3960);
         }},
    Case{"device-prefill", "folio, 256 tokens on 32x32",
         [](const Communicator& world, const BenchFlags& flags) -> std::unique_ptr<Pair> {
           return std::make_unique<ModelPair>(world, flags, mesh::Mesh{32, 32}, 256, study::make_prefill);
         }},
    Case{"device-decode", "folio, 96 tokens on 8x8",
         [](const Communicator& world, const BenchFlags& flags) -> std::unique_ptr<Pair> {
           return std::make_unique<ModelPair>(world, flags, mesh::Mesh{8, 8}, 96, study::make_decode);
         }},
};

// Seconds of the slowest rank.
double time_once(const Communicator& world, Workload& work) {
  work.prepare();
  world.max(std::int64_t{0});  // all start at once
  const double start = now();
  work.run();
  return world.max(now() - start);
}

struct Measurement {
  const Case* of = nullptr;
  std::vector<double> plain, timed, ratios;  // (reps)
};

Measurement measure(const Communicator& world, const BenchFlags& flags, const Case& one) {
  const auto pair = one.make(world, flags);
  Measurement found{&one, {}, {}, {}};
  for (int rep = -1; rep < flags.reps; ++rep) {  // the first one warms up
    show_progress(world, flags.output.quiet, fmt::format("{} {} of {}", one.name, rep + 1, flags.reps));
    std::array<double, 2> seconds{};
    const auto first = static_cast<std::size_t>((rep + 1) % 2);  // in turn
    for (const std::size_t which : {first, 1 - first})
      seconds[which] = time_once(world, which == 0 ? pair->plain() : pair->timed());
    if (rep < 0) continue;
    found.plain.push_back(seconds[0]);
    found.timed.push_back(seconds[1]);
    found.ratios.push_back(seconds[1] / seconds[0]);
  }
  show_progress(world, flags.output.quiet, "");
  return found;
}

Result to_result(const std::vector<Measurement>& all, io::Json context) {
  Result result;
  result.json = {{"context", std::move(context)}, {"cases", io::Json::array()}};
  result.csv = "case,plain_median,device_median,ratio,pairs_median,pairs_low,pairs_high\n";
  result.text = fmt::format("{:<16} {:<32} {:>10} {:>10} {:>7}  {}\n", "case", "", "plain s", "device s",
                            "ratio", "of the pairs, 95% interval");
  for (const Measurement& found : all) {
    const double plain = study::summarise(found.plain).median;
    const double timed = study::summarise(found.timed).median;
    const Summary pairs = study::summarise(found.ratios);
    result.json["cases"].push_back({{"case", found.of->name},
                                    {"what", found.of->what},
                                    {"plain_seconds", found.plain},
                                    {"device_seconds", found.timed},
                                    {"plain_median", plain},
                                    {"device_median", timed},
                                    {"ratio", timed / plain},
                                    {"pairs_median", pairs.median},
                                    {"pairs_low", pairs.low},
                                    {"pairs_high", pairs.high}});
    result.text +=
        fmt::format("{:<16} {:<32} {:>10.5f} {:>10.5f} {:>7.3f}  {:.3f} [{:.3f}, {:.3f}]\n", found.of->name,
                    found.of->what, plain, timed, timed / plain, pairs.median, pairs.low, pairs.high);
    result.csv += fmt::format("{},{},{},{},{},{},{}\n", found.of->name, plain, timed, timed / plain,
                              pairs.median, pairs.low, pairs.high);
  }
  return result;
}

int bench(const Communicator& world, const BenchFlags& flags) {
  flags.output.check(world);
  ScaleSettings settings;
  settings.threads = flags.threads;
  settings.device = flags.device;
  const io::Json context = context_of(world, settings);
  std::vector<Measurement> all;
  for (const Case& one : cases)
    if (flags.cases.empty() || std::count(flags.cases.begin(), flags.cases.end(), one.name) > 0)
      all.push_back(measure(world, flags, one));
  flags.output.deliver(world, [&] { return to_result(all, context); });
  return static_cast<int>(ExitCode::good);
}

}  // namespace

void add_bench(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("bench", "what the device model costs: ratios, interleaved in one launch");
  const auto flags = std::make_shared<BenchFlags>();
  flags->output.add_to(*command);
  flags->device.add_to(*command, "wse2");
  std::set<std::string> names;
  for (const Case& one : cases) names.insert(one.name);
  command->add_option("cases", flags->cases, "which (default: all)")->check(CLI::IsMember(names));
  command->add_option("--reps", flags->reps, "pairs, after one that warms up")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--threads", flags->threads, "threads of each rank")->check(CLI::Range(1, 1024));
  command->footer("Example: mpirun -n 2 wafermesh bench device-decode --reps 3");
  command->callback(
      [&chosen, flags] { chosen = [flags](const Communicator& world) { return bench(world, *flags); }; });
}

}  // namespace wafer::app
