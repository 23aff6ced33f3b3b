#include "wafermesh/bench_models.hpp"

#include <filesystem>

#include <unistd.h>

#include "checkpoint/convert.hpp"
#include "fabric/agree.hpp"
#include "io/file.hpp"
#include "study/workload.hpp"
#include "wafermesh/bench_baseline.hpp"
#include "wafermesh/common.hpp"

namespace wafer::app {

using fabric::Communicator;
using study::Workload;

namespace {

constexpr Index decoded = 128, prompt = 512;  // tokens, as other engines are measured

// A model's file, made for the benchmark by one rank and gone with it.
class RandomLlama {
public:
  explicit RandomLlama(const Communicator& world) {
    const std::string config = data_file("configs/llama-12x768.json");
    fabric::agree(world, [&] {
      if (!world.is_root()) return;
      made_ =
          std::filesystem::temp_directory_path() / ("wafermesh-bench-" + std::to_string(getpid()) + ".h5");
      checkpoint::make_random_model({io::read_text(config), config, 0}, made_);
    });
    path_ = world.broadcast(made_.string(), {0});
  }
  RandomLlama(const RandomLlama&) = delete;
  RandomLlama& operator=(const RandomLlama&) = delete;
  ~RandomLlama() {
    std::error_code ignored;
    std::filesystem::remove(made_, ignored);
  }
  const std::string& path() const { return path_; }

private:
  std::filesystem::path made_;  // empty but on the rank that made it
  std::string path_;
};

// A model on a mesh and what it does there.
class OnMesh {
public:
  using Make = decltype(&study::make_decode);
  OnMesh(const Communicator& world, const checkpoint::Checkpoint& checkpoint, mesh::Mesh mesh, Make make,
         const study::ModelProblem& problem)
      : world_(world) {
    model::Options options;
    options.prefill_mesh = options.decode_mesh = mesh;
    model_ = std::make_unique<model::Transformer>(world, checkpoint, options, true);
    work_ = make(world, *model_, checkpoint.config(), problem);
  }
  double run() {
    work_->prepare();
    return time_together(world_, [this] { work_->run(); });
  }
  Workload& work() { return *work_; }

private:
  const Communicator& world_;
  std::unique_ptr<model::Transformer> model_;
  std::unique_ptr<Workload> work_;
};

// What a case keeps: a model's file, and the model on one or two meshes.
struct Kept {
  std::unique_ptr<RandomLlama> file;
  std::optional<checkpoint::Checkpoint> checkpoint;
  std::unique_ptr<OnMesh> subject, baseline;
};

std::shared_ptr<Kept> llama_on(const Communicator& world, mesh::Mesh mesh, OnMesh::Make make,
                               const study::ModelProblem& problem) {
  auto kept = std::make_shared<Kept>();
  kept->file = std::make_unique<RandomLlama>(world);
  kept->checkpoint.emplace(open_model(world, kept->file->path()));
  kept->subject = std::make_unique<OnMesh>(world, *kept->checkpoint, mesh, make, problem);
  return kept;
}

// Weights that one token reads: every layer's matrices and the head, in 16 bits.
std::int64_t bytes_of_a_token(const checkpoint::ModelConfig& config) {
  const Index attention = config.hidden * config.head_dim * 2 * (config.heads + config.kv_heads);
  const Index layer = attention + 3 * config.hidden * config.ffn;
  return 2 * (config.layers * layer + config.hidden * config.vocab);
}

Contest on_many(const Communicator& world, mesh::Mesh many, OnMesh::Make make,
                const study::ModelProblem& problem) {
  const auto kept = llama_on(world, many, make, problem);
  kept->baseline = std::make_unique<OnMesh>(world, *kept->checkpoint, mesh::Mesh{2, 2}, make, problem);
  Contest contest;
  contest.subject = [kept] { return kept->subject->run(); };
  contest.baseline = [kept] { return kept->baseline->run(); };
  contest.baseline_work = 1e-9 * kept->baseline->work().flops();
  contest.baseline_cpus = world.size();
  return contest;
}

// The same steps without the device model, and with it as `generate` has it: a dry run counts the cycles.
class Timed {
public:
  Timed(const Communicator& world, const BenchSettings& settings, mesh::Mesh mesh, OnMesh::Make make,
        Index tokens)
      : world_(world), checkpoint_(open_model(world, default_model())) {
    execution_ = settings.device.execution(world, mesh);
    model::Options options;
    options.prefill_mesh = options.decode_mesh = mesh;
    options.threads = settings.threads;
    const checkpoint::ModelConfig& config = checkpoint_.config();
    real_ = std::make_unique<model::Transformer>(world, checkpoint_, options, true);
    options.prefill_execution = options.decode_execution = execution_.get();
    dry_ = std::make_unique<model::Transformer>(world, config, options);
    const study::ModelProblem problem{8, tokens};
    work_ = make(world, *real_, config, problem);
    counted_ = make(world, *dry_, config, problem);
  }
  double run(bool with_clocks) {
    work_->prepare();
    if (with_clocks) counted_->prepare();
    return time_together(world_, [&] {
      work_->run();
      if (with_clocks) counted_->run();
    });
  }
  double flops() const { return work_->flops(); }

private:
  const Communicator& world_;
  checkpoint::Checkpoint checkpoint_;
  std::unique_ptr<plmr::Execution> execution_;
  std::unique_ptr<model::Transformer> real_, dry_;
  std::unique_ptr<Workload> work_, counted_;
};

Contest with_clocks(const Communicator& world, const BenchSettings& settings, mesh::Mesh mesh,
                    OnMesh::Make make, Index tokens) {
  const auto timed = std::make_shared<Timed>(world, settings, mesh, make, tokens);
  Contest contest;
  contest.subject = [timed] { return timed->run(true); };
  contest.baseline = [timed] { return timed->run(false); };
  contest.baseline_work = 1e-9 * timed->flops();
  contest.baseline_cpus = world.size();
  return contest;
}

}  // namespace

Contest llama_decode(const Communicator& world, const BenchSettings&) {
  check_cpus(world, world.size());
  const auto kept = llama_on(world, {2, 2}, study::make_decode, {8, decoded});
  Contest contest;
  set_read_baseline(contest, world, bytes_of_a_token(kept->checkpoint->config()), decoded);
  contest.subject = [kept] { return kept->subject->run(); };
  return contest;
}

Contest llama_decode_on_many(const Communicator& world, const BenchSettings&) {
  return on_many(world, {32, 32}, study::make_decode, {8, decoded});
}

Contest llama_prefill(const Communicator& world, const BenchSettings&) {
  check_cpus(world, world.size());
  constexpr Index n = 2048;
  const auto kept = llama_on(world, {2, 2}, study::make_prefill, {0, prompt});
  Contest contest;
  set_sgemm_baseline(contest, world, n,
                     kept->subject->work().flops() / (2.0 * static_cast<double>(n * n * n)));
  contest.subject = [kept] { return kept->subject->run(); };
  return contest;
}

Contest llama_prefill_on_many(const Communicator& world, const BenchSettings&) {
  return on_many(world, {64, 64}, study::make_prefill, {0, prompt});
}

Contest folio_decode(const Communicator& world, const BenchSettings&) {
  constexpr Index tokens = 96;
  auto kept = std::make_shared<Kept>();
  kept->checkpoint.emplace(open_model(world, default_model()));
  kept->subject = std::make_unique<OnMesh>(world, *kept->checkpoint, mesh::Mesh{8, 8}, study::make_decode,
                                           study::ModelProblem{8, tokens});
  Contest contest;
  contest.subject = [kept] { return kept->subject->run() / static_cast<double>(tokens); };
  return contest;
}

Contest dry_layer(const Communicator& world, const BenchSettings& settings) {
  const mesh::Mesh mesh{720, 720};
  const std::string path = data_file("configs/llama3-8b.json");
  const auto config = std::make_shared<checkpoint::ModelConfig>();
  fabric::agree(world, [&] { *config = checkpoint::parse_config(io::read_text(path), "", path); });
  config->layers = 1;
  config->window.resize(1);
  Contest contest;
  contest.subject = [&world, mesh, settings, config] {
    const auto execution = settings.device.execution(world, mesh);  // a used one would know what follows
    model::Options options;
    options.prefill_mesh = options.decode_mesh = mesh;
    options.prefill_execution = options.decode_execution = execution.get();
    model::Transformer model(world, *config, options);
    const std::vector<Index> ids(4096, 0);
    return time_together(world, [&] { model.prefill(ids); });
  };
  return contest;
}

Contest device_prefill(const Communicator& world, const BenchSettings& settings) {
  return with_clocks(world, settings, {32, 32}, study::make_prefill, 256);
}

Contest device_decode(const Communicator& world, const BenchSettings& settings) {
  return with_clocks(world, settings, {8, 8}, study::make_decode, 96);
}

}  // namespace wafer::app
