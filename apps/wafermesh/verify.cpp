// wafermesh verify: the mesh against the independent reference, and against a golden file.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include <fmt/format.h>

#include "checkpoint/golden.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/units.hpp"
#include "fabric/agree.hpp"
#include "kernels/gemm.hpp"
#include "reference/reference.hpp"
#include "wafermesh/common.hpp"

namespace wafer::app {

using fabric::Communicator;

namespace {

struct VerifyFlags {
  MeshFlags mesh;
  ModelFlags model;
  OutputFlags output;
  std::string golden;
  std::string prompt_ids = "1,2,3,4,5,6,7,8,9,10,11";
  double tolerance = 1e-5;
  double nmse = 1e-10;
};

// What a way of running the sequence gave; at rank 0.
struct Outputs {
  std::vector<std::vector<float>> hidden;  // (layers + 1) x (T, E)
  std::vector<float> logits;               // (T, V)
};

struct LayerError {
  double max_abs = 0.0;
  double nmse = 0.0;
};

struct Comparison {
  std::vector<LayerError> layers;
  double max_abs = 0.0;   // of the logits
  double relative = 0.0;  // to the largest logit
  double kl = 0.0;        // mean over positions  [nats]
  double top1 = 0.0;      // share of positions with the same likeliest token
  double top10 = 0.0;     // mean share of the ten likeliest in common
  Index first_bad = -1;   // layer
  bool good = true;
};

template <class T>
LayerError layer_error(const std::vector<float>& got, const T* want) {
  double square = 0.0, norm = 0.0;
  LayerError error;
  for (std::size_t k = 0; k < got.size(); ++k) {
    const double difference = static_cast<double>(got[k]) - static_cast<double>(want[k]);
    // Not std::max: a NaN must stay.
    if (!(std::abs(difference) <= error.max_abs)) error.max_abs = std::abs(difference);
    square += difference * difference;
    norm += static_cast<double>(want[k]) * static_cast<double>(want[k]);
  }
  error.nmse = norm > 0.0 ? square / norm : square;
  return error;
}

template <class T>
std::vector<Index> likeliest(const T* logits, Index vocab, Index count) {
  std::vector<Index> ids(at(vocab));
  std::iota(ids.begin(), ids.end(), Index{0});
  const auto better = [&](Index a, Index b) {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
  };
  std::partial_sort(ids.begin(), ids.begin() + std::min(count, vocab), ids.end(), better);
  ids.resize(at(std::min(count, vocab)));
  return ids;
}

double divergence(const float* got, const double* want, Index vocab) {
  const auto log_sum = [&](const auto* x) {
    const double most = *std::max_element(x, x + vocab);
    double sum = 0.0;
    for (Index v = 0; v < vocab; ++v) sum += std::exp(static_cast<double>(x[v]) - most);
    return most + std::log(sum);
  };
  const double p_norm = log_sum(want), q_norm = log_sum(got);
  double kl = 0.0;
  for (Index v = 0; v < vocab; ++v)
    kl += std::exp(want[v] - p_norm) * ((want[v] - p_norm) - (static_cast<double>(got[v]) - q_norm));
  return kl;
}

void compare_rankings(const Outputs& got, const std::vector<double>& want, Index vocab, Comparison& result) {
  const Index tokens = static_cast<Index>(want.size()) / vocab;
  for (Index t = 0; t < tokens; ++t) {
    const float* g = got.logits.data() + t * vocab;
    const double* w = want.data() + t * vocab;
    result.kl += divergence(g, w, vocab) / static_cast<double>(tokens);
    auto ours = likeliest(g, vocab, 10);
    auto theirs = likeliest(w, vocab, 10);
    result.top1 += (ours.front() == theirs.front() ? 1.0 : 0.0) / static_cast<double>(tokens);
    std::sort(ours.begin(), ours.end());
    std::sort(theirs.begin(), theirs.end());
    std::vector<Index> common;
    std::set_intersection(ours.begin(), ours.end(), theirs.begin(), theirs.end(), std::back_inserter(common));
    result.top10 +=
        static_cast<double>(common.size()) / static_cast<double>(theirs.size()) / static_cast<double>(tokens);
  }
}

Comparison compare(const Outputs& got, const std::vector<std::vector<double>>& hidden,
                   const std::vector<double>& logits, Index vocab, const VerifyFlags& flags) {
  Comparison result;
  for (std::size_t layer = 0; layer < hidden.size(); ++layer) {
    const bool complete = layer < got.hidden.size() && got.hidden[layer].size() == hidden[layer].size();
    WAFER_CHECK(complete, "every hidden state was observed");
    result.layers.push_back(layer_error(got.hidden[layer], hidden[layer].data()));
    if (!(result.layers.back().nmse <= flags.nmse)) {
      result.good = false;
      if (result.first_bad < 0) result.first_bad = static_cast<Index>(layer);
    }
  }
  WAFER_CHECK(got.logits.size() == logits.size(), "logits at every position");
  double largest = 0.0;
  for (const double logit : logits) largest = std::max(largest, std::abs(logit));
  result.max_abs = layer_error(got.logits, logits.data()).max_abs;
  result.relative = result.max_abs / largest;
  if (!(result.relative <= flags.tolerance)) result.good = false;
  compare_rankings(got, logits, vocab, result);
  return result;
}

std::vector<std::vector<double>> split(const std::vector<double>& hidden, Index layers) {
  const auto size = static_cast<std::ptrdiff_t>(hidden.size()) / layers;
  std::vector<std::vector<double>> all;
  for (Index l = 0; l < layers; ++l)
    all.emplace_back(hidden.begin() + l * size, hidden.begin() + (l + 1) * size);
  return all;
}

// Runs the first `prompt` tokens by prefill and the others by decode.
Outputs run_sequence(model::Transformer& model, const std::vector<Index>& ids, Index prompt, Index layers) {
  Outputs outputs;
  outputs.hidden.resize(at(layers + 1));
  const auto observe = [&](Index layer, const std::vector<float>& hidden) {
    auto& all = outputs.hidden[at(layer)];
    all.insert(all.end(), hidden.begin(), hidden.end());
  };
  const auto keep = [&](const std::vector<float>& logits) {
    outputs.logits.insert(outputs.logits.end(), logits.begin(), logits.end());
  };
  if (prompt > 0) {
    model.back_to_prefill();
    model.prefill(std::span(ids).first(at(prompt)), observe);
    keep(model.all_logits());
  } else {
    model.reset();
  }
  if (prompt < static_cast<Index>(ids.size())) model.transition();
  for (Index t = prompt; t < static_cast<Index>(ids.size()); ++t) {
    model.decode(ids[at(t)], observe);
    keep(model.logits());
  }
  return outputs;
}

// The number of greedy tokens that agree before the first that does not.
Index greedy_agreement(model::Transformer& model, const checkpoint::Golden& golden) {
  model.back_to_prefill();
  model.prefill(golden.prompt_ids);
  for (std::size_t k = 0; k < golden.greedy_ids.size(); ++k) {
    const Index next = model.greedy();
    if (next != golden.greedy_ids[k]) return static_cast<Index>(k);
    model.transition();
    if (k + 1 < golden.greedy_ids.size()) model.decode(next);
  }
  return static_cast<Index>(golden.greedy_ids.size());
}

std::string to_line(const std::string& name, const Comparison& c) {
  double worst_nmse = 0.0;
  for (const LayerError& layer : c.layers) worst_nmse = std::max(worst_nmse, layer.nmse);
  return fmt::format(
      "{:<28} logits max abs {:.2e} ({:.2e} of the largest)  KL {:.1e}  top-1 {:.4f}  top-10 {:.4f}  hidden "
      "NMSE {:.1e}  {}\n",
      name, c.max_abs, c.relative, c.kl, c.top1, c.top10, worst_nmse, c.good ? "ok" : "DIFFERS");
}

std::string layer_table(const Comparison& c) {
  std::string table = fmt::format("{:>8}  {:>10}  {:>10}\n", "layer", "max abs", "NMSE");
  for (std::size_t layer = 0; layer < c.layers.size(); ++layer)
    table += fmt::format("{:>8}  {:>10.2e}  {:>10.2e}\n",
                         layer == 0                     ? "embed"
                         : layer + 1 == c.layers.size() ? "norm"
                                                        : std::to_string(layer),
                         c.layers[layer].max_abs, c.layers[layer].nmse);
  return table;
}

io::Json to_json(const std::string& name, const Comparison& c) {
  io::Json layers = io::Json::array();
  for (const LayerError& layer : c.layers)
    layers.push_back({{"max_abs", layer.max_abs}, {"nmse", layer.nmse}});
  return {
      {"name", name},   {"max_abs", c.max_abs}, {"relative", c.relative}, {"kl", c.kl},
      {"top1", c.top1}, {"top10", c.top10},     {"layers", layers},       {"first_bad_layer", c.first_bad},
      {"good", c.good}};
}

class Verification {
public:
  Verification(const Communicator& world, const VerifyFlags& flags)
      : world_(world),
        flags_(flags),
        options_(flags.model.options(flags.mesh, world)),
        time_(flags.model, world, options_),
        checkpoint_(open_model(world, flags.model.model)) {
    if (flags.golden.empty()) {
      ids_ = parse_ids(flags.prompt_ids);
    } else {
      fabric::agree(world, [&] { golden_ = checkpoint::read_golden(flags.golden, checkpoint_.config()); });
      ids_ = golden_->input_ids;
    }
    check_prompt(checkpoint_.config(), ids_, 0);
  }

  int run() {
    reference::Trace want;
    at_root(world_, [&] { want = reference::Reference(checkpoint_).forward(ids_); });
    model::Transformer model(world_, checkpoint_, options_, true);
    const auto tokens = static_cast<Index>(ids_.size());
    check("prefill", run_sequence(model, ids_, tokens, layers()), want);
    if (tokens > 1) check("half prefill, then decode", run_sequence(model, ids_, tokens / 2, layers()), want);
    model.back_to_prefill();
    model.transition();
    check("decode from an empty cache", run_sequence(model, ids_, 0, layers()), want);
    if (golden_ && !golden_->greedy_ids.empty()) {
      agreed_ = greedy_agreement(model, *golden_);
      good_ = good_ && agreed_ == static_cast<Index>(golden_->greedy_ids.size());
    }
    flags_.output.deliver(world_, [&] {
      Result result{json(), text()};
      time_.add_to(result);  // of all the runs above together
      return result;
    });
    const bool good = world_.broadcast(good_ ? 1 : 0, {0}) == 1;
    return static_cast<int>(good ? ExitCode::good : ExitCode::verification);
  }

private:
  Index layers() const { return checkpoint_.config().layers; }

  void check(const std::string& name, const Outputs& got, const reference::Trace& want) {
    if (!world_.is_root()) return;
    const Index vocab = checkpoint_.config().vocab;
    add(name + ", reference", compare(got, want.hidden, want.logits, vocab, flags_));
    if (golden_)
      add(name + ", golden",
          compare(got, split(golden_->hidden, layers() + 1), golden_->logits, vocab, flags_));
    hash_ = hash_bytes(std::as_bytes(std::span(got.logits)), hash_);
  }
  void add(const std::string& name, Comparison comparison) {
    good_ = good_ && comparison.good;
    results_.emplace_back(name, std::move(comparison));
  }

  io::Json json() const {
    io::Json all = io::Json::array();
    for (const auto& [name, comparison] : results_) all.push_back(to_json(name, comparison));
    return {{"model", flags_.model.model},
            {"prefill_mesh", to_string(options_.prefill_mesh)},
            {"decode_mesh", to_string(options_.decode_mesh)},
            {"ranks", world_.size()},
            {"comparisons", all},
            {"greedy_agreed", agreed_},
            {"good", good_},
            {"logits_hash", format_hash(hash_)},
            {"kernels", kernels::use_library()}};
  }

  std::string text() const {
    std::string lines = flags_.output.quiet ? "" : layer_table(results_.front().second);
    for (const auto& [name, comparison] : results_) {
      lines += to_line(name, comparison);
      if (comparison.first_bad >= 0)
        lines += fmt::format("  first layer that differs: {}\n", comparison.first_bad);
    }
    if (golden_) lines += fmt::format("greedy tokens equal: {} of {}\n", agreed_, golden_->greedy_ids.size());
    return lines + fmt::format("logits hash: {}  ({})\n{}\n", format_hash(hash_), kernels::use_library(),
                               good_ ? "verified" : "FAILED");
  }

  const Communicator& world_;
  const VerifyFlags& flags_;
  model::Options options_;
  ModelTime time_;
  checkpoint::Checkpoint checkpoint_;
  std::optional<checkpoint::Golden> golden_;
  std::vector<Index> ids_;
  std::vector<std::pair<std::string, Comparison>> results_;
  Index agreed_ = 0;
  std::uint64_t hash_ = 0xcbf29ce484222325U;
  bool good_ = true;
};

}  // namespace

void add_verify(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("verify", "the mesh against the reference, and against a golden file");
  const auto flags = std::make_shared<VerifyFlags>();
  flags->mesh.add_to(*command);
  flags->model.add_to(*command);
  flags->output.add_to(*command);
  command->add_option("--golden", flags->golden,
                      "golden.h5: inputs and what another implementation computed");
  command->add_option("--prompt-ids", flags->prompt_ids, "the sequence, without a golden file")
      ->capture_default_str();
  command->add_option("--tolerance", flags->tolerance, "of the logits, as a share of the largest")
      ->capture_default_str();
  command->add_option("--nmse", flags->nmse, "of every hidden state")->capture_default_str();
  command->footer("Example: mpirun -n 2 wafermesh verify --mesh 8x8");
  command->callback([&chosen, flags] {
    chosen = [flags](const Communicator& world) {
      flags->output.check(world);
      return Verification(world, *flags).run();
    };
  });
}

}  // namespace wafer::app
