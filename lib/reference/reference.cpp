#include "reference/reference.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "reference/arithmetic.hpp"
#include "reference/attention.hpp"
#include "reference/linear.hpp"

namespace wafer::reference {
namespace {

using checkpoint::Checkpoint;
using checkpoint::ModelConfig;
using checkpoint::Weight;

void check_ids(const ModelConfig& config, std::span<const Index> ids) {
  for (const Index id : ids)
    if (id < 0 || id >= config.vocab)
      throw FitError({.what = fmt::format("token id {} is not in the vocabulary", id),
                      .expected = fmt::format("0 to {}", config.vocab - 1)});
}

void check_length(const ModelConfig& config, Index fed, Index more) {
  const Index longest = config.longest_sequence();
  if (fed + more <= longest) return;
  throw FitError({.what = "the sequence is too long for the model",
                  .got = fmt::format("{} tokens", fed + more),
                  .expected = fmt::format("at most {}", longest),
                  .remedy = fmt::format("at most {} after the {} fed before", longest - fed, fed)});
}

std::vector<double> embed(const Checkpoint& checkpoint, std::span<const Index> ids) {
  std::vector<double> rows;
  rows.reserve(ids.size() * at(checkpoint.config().hidden));
  for (const Index id : ids) {
    const std::vector<double> row = read_rows(checkpoint, {Weight::embedding, 0}, id, 1);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

void add(std::vector<double>& x, const std::vector<double>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

/// Writes `rows` (T, n) after the first `length` rows of the cache; what a failed call left there goes.
void append(std::vector<double>& cache, const std::vector<double>& rows, Index length, Index tokens) {
  if (tokens == 0) return;
  cache.resize(at(length) * (rows.size() / at(tokens)));
  cache.insert(cache.end(), rows.begin(), rows.end());
}

}  // namespace

Reference::Reference(const Checkpoint& checkpoint)
    : checkpoint_(checkpoint),
      keys_(at(checkpoint.config().layers)),
      values_(at(checkpoint.config().layers)) {}

Trace Reference::forward(std::span<const Index> ids, const std::function<void(Index)>& progress) {
  const ModelConfig& config = checkpoint_.config();
  const auto tokens = static_cast<Index>(ids.size());
  check_ids(config, ids);
  check_length(config, length_, tokens);
  const Rotation rotation = make_rotation(config, length_, tokens);

  Trace trace;
  std::vector<double> x = embed(checkpoint_, ids);  // (T, E)
  for (Index layer = 0; layer < config.layers; ++layer) {
    trace.hidden.push_back(x);
    add(x, attention_block(layer, normed(x, Weight::attention_norm, layer), rotation));
    add(x, ffn_block(layer, normed(x, Weight::ffn_norm, layer)));
    if (progress) progress(layer + 1);
  }
  trace.hidden.push_back(normed(x, Weight::final_norm));
  trace.logits = linear(checkpoint_, {Weight::lm_head, 0}, trace.hidden.back());
  length_ += tokens;
  return trace;
}

void Reference::reset() {
  for (auto& keys : keys_) keys.clear();
  for (auto& values : values_) values.clear();
  length_ = 0;
}

std::vector<double> Reference::normed(std::span<const double> x, Weight weight, Index layer) const {
  return rms_norm(x, checkpoint_.read_vector({weight, layer}), checkpoint_.config().norm_eps);
}

std::vector<double> Reference::projected(std::span<const double> x, Weight matrix, Weight bias, bool has_bias,
                                         Index layer) const {
  std::vector<double> y = linear(checkpoint_, {matrix, layer}, x);
  if (has_bias) add_bias(checkpoint_, {bias, layer}, y);
  return y;
}

std::vector<double> Reference::attention_block(Index layer, std::span<const double> x,
                                               const Rotation& rotation) {
  const ModelConfig& config = checkpoint_.config();
  const Index tokens = static_cast<Index>(x.size()) / config.hidden;
  auto q = projected(x, Weight::q, Weight::q_bias, config.qkv_bias, layer);  // (T, heads d)
  auto k = projected(x, Weight::k, Weight::k_bias, config.qkv_bias, layer);  // (T, kv_heads d)
  const auto v = projected(x, Weight::v, Weight::v_bias, config.qkv_bias, layer);
  if (config.qk_norm) {  // the rows of these norms are heads
    q = normed(q, Weight::q_norm, layer);
    k = normed(k, Weight::k_norm, layer);
  }
  rotate(q, rotation, config.head_dim);
  rotate(k, rotation, config.head_dim);
  auto& keys = keys_[at(layer)];
  auto& values = values_[at(layer)];
  append(keys, k, length_, tokens);
  append(values, v, length_, tokens);
  const auto mixed = attention(config, config.window[at(layer)], q, keys, values);
  return projected(mixed, Weight::o, Weight::o_bias, config.o_bias, layer);
}

std::vector<double> Reference::ffn_block(Index layer, std::span<const double> x) const {
  const bool has_bias = checkpoint_.config().mlp_bias;
  auto gated = projected(x, Weight::gate, Weight::gate_bias, has_bias, layer);  // (T, F)
  const auto up = projected(x, Weight::up, Weight::up_bias, has_bias, layer);
  for (std::size_t i = 0; i < gated.size(); ++i) gated[i] = silu(gated[i]) * up[i];
  return projected(gated, Weight::down, Weight::down_bias, has_bias, layer);
}

}  // namespace wafer::reference
