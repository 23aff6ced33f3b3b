// The prefill plan: WaferLLM (OSDI 2025), Fig. 3.
#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "fabric/redistribute.hpp"
#include "model/rope_frequencies.hpp"
#include "model/transformer.hpp"
#include "ops/attention.hpp"
#include "ops/elementwise.hpp"
#include "ops/embedding.hpp"
#include "ops/qk_norm.hpp"
#include "ops/rms_norm.hpp"

namespace wafer::model {

using fabric::Blocks, fabric::Placement;
using mesh::CoreCoord;

void Transformer::prefill(std::span<const Index> ids, const HiddenObserver& observe) {
  WAFER_CHECK(placed_for_prefill_ && tokens_ == 0,
              "prefill starts a sequence, with the weights in its places");
  if (ids.empty()) throw FitError({.what = "the prompt is empty", .expected = "at least one token"});
  check_sequence(ids);
  start_phase("prefill");
  const auto& fabric = prefill_fabric_;
  const auto look = [&](Index layer, const Blocks& X) {
    if (observe) observe(layer, fabric::gather(fabric, X));
  };
  tokens_ = static_cast<Index>(ids.size());
  const Partition tokens = Partition::even(tokens_, fabric.mesh().height);
  Blocks X = stored(fabric, ops::embed(decode_fabric_, table_, ids, fabric, tokens, prefill_cut_.hidden_x));
  look(0, X);
  for_layers(
      fabric.execution(),
      [&](Index layer) {
        const auto span = known(fabric, Part::prefill_layer, config_->window[at(layer)], tokens_);
        prefill_layer(layer, X);
        if (layer + 1 < config_->layers) look(layer + 1, X);
      },
      [&](Index) {
        const Placement& placement = prompt_.front().first.placement();
        const auto entry = [&] { return Blocks(fabric, placement, DType::f32, plmr::Memory::cache); };
        prompt_.emplace_back(entry(), entry());
      });
  X_ = stored(fabric,
              ops::rms_norm(fabric, X, final_norm_, static_cast<float>(config_->norm_eps), prefill_rows_));
  look(config_->layers, X_);

  // The last token's row, copied along X where decode's head wants it.
  const Index row = tokens.part_of(tokens_ - 1);
  Blocks last(fabric, Placement(Partition::even(1, 1), prefill_cut_.hidden_x, [row](Index, Index x) {
                return CoreCoord{row, x};
              }));
  for (Index x = 0; x < fabric.mesh().width; ++x)
    if (last.here(0, x))
      std::copy_n(X_(row, x).row(tokens.size(row) - 1).begin(), last.shape(0, x).cols,
                  last.vector(x).begin());
  const plmr::Operator charged(decode_fabric_.execution(), "hidden");
  if (decode_fabric_.execution() != nullptr && decode_fabric_.execution() != fabric.execution())
    decode_fabric_.execution()->wait_until(fabric.execution()->now());
  h_ = Blocks(decode_fabric_, Placement::copied(mesh::Axis::x, decode_cut_.hidden_y));
  fabric::redistribute(fabric, last, decode_fabric_, *h_);
}

void Transformer::prefill_layer(Index layer, Blocks& X) {
  const auto& fabric = prefill_fabric_;
  const ops::HeadLayout& heads = prefill_cut_.heads;
  const LayerVectors& vectors = vectors_[at(layer)];
  LayerMatrices& weights = layers_[at(layer)];
  const auto eps = static_cast<float>(config_->norm_eps);
  const auto tokens_of = [&X](Index row) { return X.placement().rows().size(row); };
  const auto multiply = [&](const char* role, const Blocks& left, Blocks& right, const Partition& cols) {
    const plmr::Operator charged(fabric.execution(), role);
    return gemm_->multiply(left, right, cols);
  };

  const Blocks normed = stored(fabric, ops::rms_norm(fabric, X, vectors.attention_norm, eps, prefill_rows_));
  Blocks QKV = multiply("qkv", normed, weights.qkv, heads.fused());
  ops::add_bias(fabric, vectors.qkv_bias, QKV);
  store(fabric, QKV);
  if (config_->qk_norm) {
    std::vector<Index> rows;
    for (Index y = 0; y < fabric.mesh().height; ++y) rows.push_back(y);
    ops::qk_norm(fabric, heads, prefill_runs_, rows, {vectors.q_norm, vectors.k_norm, eps},
                 {tokens_of, [&](CoreCoord core) { return QKV(core.y, core.x); }});
    store(fabric, QKV);
  }
  ops::charge_rope(fabric, heads, tokens_of);
  const auto frequencies = rope_frequencies(*config_, tokens_);
  fabric.for_cores([&](CoreCoord core) {
    ops::rope(heads, core.x, frequencies, QKV.placement().rows().offset(core.y), QKV(core.y, core.x));
  });
  store(fabric, QKV);
  keep_keys_and_values(QKV);

  const Blocks A =
      stored(fabric, ops::attention(fabric, heads, QKV, config_->window[at(layer)], options_.storage));
  Blocks O = multiply("o", A, weights.o, prefill_cut_.hidden_x);
  ops::add_bias(fabric, vectors.o_bias, O);
  store(fabric, O);
  ops::add(fabric, O, X);
  store(fabric, X);

  Blocks gate_up =
      multiply("gate_up", stored(fabric, ops::rms_norm(fabric, X, vectors.ffn_norm, eps, prefill_rows_)),
               weights.gate_up, prefill_cut_.gate_up);
  ops::add_bias(fabric, vectors.gate_up_bias, gate_up);
  store(fabric, gate_up);
  const Blocks M = stored(
      fabric, ops::silu_product(fabric, gate_up, Placement::plain(X.placement().rows(), prefill_cut_.ffn)));
  Blocks down = multiply("down", M, weights.down, prefill_cut_.hidden_x);
  ops::add_bias(fabric, vectors.down_bias, down);
  store(fabric, down);
  ops::add(fabric, down, X);
  store(fabric, X);
}

void Transformer::keep_keys_and_values(const Blocks& QKV) {
  const ops::HeadLayout& heads = prefill_cut_.heads;
  const Placement placement = Placement::plain(QKV.placement().rows(), heads.key());
  Blocks keys(prefill_fabric_, placement, DType::f32, plmr::Memory::cache);
  Blocks values(prefill_fabric_, placement, DType::f32, plmr::Memory::cache);
  prefill_fabric_.for_cores([&](CoreCoord core) {
    const Index width = heads.key().size(core.x);
    const auto from = QKV(core.y, core.x);
    for (Index m = 0; m < from.rows(); ++m) {
      const auto entry = from.row(m).last(at(2 * width));
      std::copy_n(entry.begin(), width, keys(core.y, core.x).row(m).begin());
      std::copy_n(entry.begin() + width, width, values(core.y, core.x).row(m).begin());
    }
  });
  prompt_.emplace_back(std::move(keys), std::move(values));
}

}  // namespace wafer::model
