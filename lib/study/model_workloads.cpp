// Prefill and decode of a model, to be timed.
#include <algorithm>
#include <string>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "study/workload.hpp"

namespace wafer::study {

using checkpoint::ModelConfig;
using fabric::Communicator;
using model::Transformer;

namespace {

std::vector<Index> prompt_of(const ModelConfig& config, Index tokens) {
  std::vector<Index> ids;
  for (Index t = 0; t < tokens; ++t) ids.push_back((t * 7919 + 13) % config.vocab);
  return ids;
}

void check_context(const ModelConfig& config, Index tokens) {
  if (tokens <= config.longest_sequence()) return;
  throw FitError({.what = "the sequence does not fit the model's context",
                  .got = std::to_string(tokens) + " tokens",
                  .expected = "at most " + std::to_string(config.longest_sequence())});
}

// Of one token's products with the weights of all layers.
double flops_of_layers(const ModelConfig& config) {
  const Index attention = config.hidden * config.head_dim * 2 * (config.heads + config.kv_heads);
  return 2.0 * static_cast<double>(config.layers * (attention + 3 * config.hidden * config.ffn));
}
double flops_of_head(const ModelConfig& config) {
  return 2.0 * static_cast<double>(config.hidden * config.vocab);
}

// Of a prompt's scores and weighted values, over the keys that each token sees.
double flops_of_attention(const ModelConfig& config, Index tokens) {
  const auto width = static_cast<double>(config.heads * config.head_dim);
  double pairs = 0.0;  // of a token and a key, in all layers
  for (const Index window : config.window)
    for (Index t = 0; t < tokens; ++t)
      pairs += static_cast<double>(window > 0 ? std::min(t + 1, window) : t + 1);
  return 4.0 * width * pairs;
}

class ModelWorkload : public Workload {
public:
  ModelWorkload(const Communicator& communicator, Transformer& model, const ModelConfig& config,
                const ModelProblem& problem)
      : communicator_(communicator), model_(model), config_(config), problem_(problem) {}
  std::uint64_t hash() override {
    const auto logits = model_.logits();
    const auto hash = static_cast<std::int64_t>(hash_bytes(std::as_bytes(std::span(logits))));
    return static_cast<std::uint64_t>(communicator_.broadcast(hash, {0}));
  }

protected:
  const Communicator& communicator_;
  Transformer& model_;
  const ModelConfig& config_;
  ModelProblem problem_;
};

class PrefillWorkload : public ModelWorkload {
public:
  using ModelWorkload::ModelWorkload;
  void prepare() override { model_.back_to_prefill(); }
  void run() override { model_.prefill(prompt_of(config_, problem_.tokens)); }
  double flops() const override {
    return static_cast<double>(problem_.tokens) * flops_of_layers(config_) +
           flops_of_attention(config_, problem_.tokens);
  }
};

class DecodeWorkload : public ModelWorkload {
public:
  using ModelWorkload::ModelWorkload;
  void prepare() override {
    model_.back_to_prefill();
    model_.prefill(prompt_of(config_, problem_.prompt));
    next_ = model_.greedy();
    model_.transition();
  }
  void run() override {
    for (Index token = 0; token < problem_.tokens; ++token) {
      model_.decode(next_);
      next_ = model_.greedy();
    }
  }
  double flops() const override {
    return static_cast<double>(problem_.tokens) * (flops_of_layers(config_) + flops_of_head(config_));
  }

private:
  Index next_ = 0;
};

}  // namespace

std::unique_ptr<Workload> make_prefill(const Communicator& communicator, Transformer& model,
                                       const ModelConfig& config, const ModelProblem& problem) {
  check_context(config, problem.tokens);
  return std::make_unique<PrefillWorkload>(communicator, model, config, problem);
}

std::unique_ptr<Workload> make_decode(const Communicator& communicator, Transformer& model,
                                      const ModelConfig& config, const ModelProblem& problem) {
  check_context(config, problem.prompt + problem.tokens);
  return std::make_unique<DecodeWorkload>(communicator, model, config, problem);
}

}  // namespace wafer::study
