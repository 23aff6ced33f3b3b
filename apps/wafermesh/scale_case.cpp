#include "wafermesh/scale_case.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/error.hpp"
#include "fabric/agree.hpp"
#include "ops/gemm.hpp"
#include "wafermesh/common.hpp"

namespace wafer::app {

using fabric::Communicator, fabric::Fabric;
using study::Workload;

namespace {

std::set<std::string> reductions() { return names_of(fabric::all_reduce_algorithms()); }
std::set<std::string> gemms() { return names_of(ops::gemm_algorithms()); }

const std::array operations = {
    ScaleOperation{"gemm", 1024, "mesh", 1.0 / 3.0, gemm_names},
    ScaleOperation{"gemv", 4096, "ktree", 0.5, reductions},
    ScaleOperation{"allreduce", 4096, "ktree", 1.0, reductions},
    ScaleOperation{"prefill", 64, "mesh", 1.0, gemms},
    ScaleOperation{"decode", 32, "ktree", 0.0, reductions},
};

bool is_model(const std::string& op) { return op == "prefill" || op == "decode"; }

fabric::ReduceShape reduce_by(const std::string& algorithm) {
  return {2, 0, &fabric::all_reduce_algorithm(algorithm)};
}

model::Options options_of(const ScaleSettings& settings, const ScalePoint& point) {
  model::Options options;
  options.prefill_mesh = options.decode_mesh = point.mesh;
  options.threads = settings.threads;
  options.storage = settings.device.storage_type();
  if (settings.op == "prefill")
    options.gemm = point.algorithm;
  else
    options.tree = reduce_by(point.algorithm);
  return options;
}

std::unique_ptr<Workload> product(const std::string& op, const Fabric& fabric, const ScalePoint& point) {
  const Index n = point.size;
  if (op == "gemm") return study::make_gemm(fabric, {point.algorithm, n, n, n, 0});
  if (op == "gemv") return study::make_gemv(fabric, {reduce_by(point.algorithm), n, n, 0});
  return study::make_all_reduce(fabric, {reduce_by(point.algorithm), mesh::Axis::y, n, false, true});
}

std::unique_ptr<Workload> of_model(const ScaleSettings& settings, const Communicator& group,
                                   model::Transformer& model, const checkpoint::ModelConfig& config,
                                   Index tokens) {
  const study::ModelProblem problem{settings.prompt, tokens};
  return settings.op == "prefill" ? study::make_prefill(group, model, config, problem)
                                  : study::make_decode(group, model, config, problem);
}

DeviceCost cost_between(const plmr::Ledger& before, const plmr::Execution& execution, plmr::Ticks start) {
  const auto all = [](const plmr::Account&) { return true; };
  const plmr::Charge earlier = before.total(all);
  const plmr::Charge now = execution.ledger().total(all);
  return {
      plmr::to_cycles(execution.now() - start),
      plmr::to_cycles(now.exposed_all - earlier.exposed_all) / static_cast<double>(execution.mesh().cores()),
      now.words - earlier.words};
}

}  // namespace

const ScaleOperation& scale_operation(const std::string& name) {
  for (const ScaleOperation& operation : operations)
    if (operation.name == name) return operation;
  throw UsageError(
      {.what = "--op", .got = "\"" + name + "\"", .expected = "gemm, gemv, allreduce, prefill or decode"});
}

void ScaleSettings::add_to(CLI::App& command) {
  model = default_model();
  std::set<std::string> names;
  for (const ScaleOperation& operation : operations) names.insert(operation.name);
  command.add_option("--op", op, "what to time")->check(CLI::IsMember(names))->capture_default_str();
  command.add_option("--model", model, "of prefill and decode")->capture_default_str();
  command.add_option("--threads", threads, "threads of each rank; changes no result")
      ->check(CLI::Range(1, 1024));
  command.add_option("--prompt-tokens", prompt, "of decode")
      ->check(CLI::Range(Index{1}, Index{1} << 20))
      ->capture_default_str();
  device.add_to(command);
}

struct ScaleCase::Parts {
  std::optional<checkpoint::Checkpoint> checkpoint;
  std::optional<Fabric> fabric;
  std::unique_ptr<model::Transformer> model;
  std::unique_ptr<Workload> work;
};

ScaleCase::ScaleCase(const Communicator& world, const ScaleSettings& settings, const ScalePoint& point)
    : settings_(settings),
      point_(point),
      group_(world.split(world.rank().value < point.ranks ? 0 : 1, world.rank().value)),
      works_(world.rank().value < point.ranks),
      parts_(std::make_unique<Parts>()) {
  fabric::agree(world, [&] {
    if (!works_) return;
    const mesh::Tiling tiling(point.mesh, point.ranks);
    if (!is_model(settings.op)) {
      parts_->fabric.emplace(group_, tiling, settings.threads);
      parts_->work = product(settings.op, *parts_->fabric, point);
      return;
    }
    parts_->checkpoint.emplace(settings.model);
    const auto& config = parts_->checkpoint->config();
    parts_->model =
        std::make_unique<model::Transformer>(group_, *parts_->checkpoint, options_of(settings, point), true);
    parts_->work = of_model(settings, group_, *parts_->model, config, point.size);
  });
}

ScaleCase::~ScaleCase() = default;

double ScaleCase::run() {
  if (!works_) return 0.0;
  parts_->work->prepare();
  group_.max(std::int64_t{0});  // all start at once
  const double start = now();
  parts_->work->run();
  return group_.max(now() - start);
}

void ScaleCase::finish(ScaleRow& row) {
  if (!works_) return;
  row.flops = parts_->work->flops();
  row.error = parts_->work->error();
  row.hash = parts_->work->hash();
  const mesh::Tiling tiling(point_.mesh, point_.ranks);
  Index most = 0;
  for (int rank = 0; rank < point_.ranks; ++rank) most = std::max(most, tiling.tile({rank}).cores());
  row.balance = static_cast<double>(point_.mesh.cores()) / static_cast<double>(most * point_.ranks);
  const auto execution = settings_.device.execution(group_, point_.mesh);
  if (!execution) return;
  const Fabric dry(group_, tiling, 1, execution.get(), true);
  std::unique_ptr<model::Transformer> model;
  std::unique_ptr<Workload> work;
  if (is_model(settings_.op)) {
    model::Options options = options_of(settings_, point_);
    options.prefill_execution = options.decode_execution = execution.get();
    const auto& config = parts_->checkpoint->config();
    model = std::make_unique<model::Transformer>(group_, config, options);
    work = of_model(settings_, group_, *model, config, point_.size);
  } else {
    work = product(settings_.op, dry, point_);
  }
  work->prepare();
  const plmr::Ledger before = execution->ledger();
  const plmr::Ticks start = execution->now();
  work->run();
  row.device = cost_between(before, *execution, start);
}

}  // namespace wafer::app
