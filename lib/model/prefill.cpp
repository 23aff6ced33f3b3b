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
#include "ops/mesh_gemm.hpp"
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
  const auto& fabric = prefill_fabric_;
  const auto look = [&](Index layer, const Blocks& X) {
    if (observe) observe(layer, fabric::gather(fabric, X));
  };
  tokens_ = static_cast<Index>(ids.size());
  const Partition tokens = Partition::even(tokens_, fabric.mesh().height);
  Blocks X = ops::embed(decode_fabric_, table_, ids, fabric, tokens, prefill_cut_.hidden_x);
  look(0, X);
  for (Index layer = 0; layer < config_->layers; ++layer) {
    prefill_layer(layer, X);
    if (layer + 1 < config_->layers) look(layer + 1, X);
  }
  X_ = ops::rms_norm(fabric, X, final_norm_, static_cast<float>(config_->norm_eps), prefill_rows_);
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
  h_ = Blocks(decode_fabric_, Placement::copied(mesh::Axis::x, decode_cut_.hidden_y));
  fabric::redistribute(fabric, last, decode_fabric_, *h_);
}

void Transformer::prefill_layer(Index layer, Blocks& X) {
  const auto& fabric = prefill_fabric_;
  const ops::HeadLayout& heads = prefill_cut_.heads;
  const LayerVectors& vectors = vectors_[at(layer)];
  LayerMatrices& weights = layers_[at(layer)];
  const auto eps = static_cast<float>(config_->norm_eps);

  Blocks QKV = ops::mesh_gemm(fabric, ops::rms_norm(fabric, X, vectors.attention_norm, eps, prefill_rows_),
                              weights.qkv);
  ops::add_bias(vectors.qkv_bias, QKV);
  if (config_->qk_norm) {
    std::vector<Index> rows;
    for (Index y = 0; y < fabric.mesh().height; ++y) rows.push_back(y);
    ops::qk_norm(fabric, heads, prefill_runs_, rows, {vectors.q_norm, vectors.k_norm, eps},
                 [&](CoreCoord core) { return QKV(core.y, core.x); });
  }
  const auto frequencies = rope_frequencies(*config_, tokens_);
  fabric.for_cores([&](CoreCoord core) {
    ops::rope(heads, core.x, frequencies, QKV.placement().rows().offset(core.y), QKV(core.y, core.x));
  });
  keep_keys_and_values(QKV);

  const Blocks A = ops::attention(fabric, heads, QKV, config_->window[at(layer)]);
  Blocks O = ops::mesh_gemm(fabric, A, weights.o);
  ops::add_bias(vectors.o_bias, O);
  ops::add(fabric, O, X);

  Blocks gate_up =
      ops::mesh_gemm(fabric, ops::rms_norm(fabric, X, vectors.ffn_norm, eps, prefill_rows_), weights.gate_up);
  ops::add_bias(vectors.gate_up_bias, gate_up);
  const Blocks M =
      ops::silu_product(fabric, gate_up, Placement::plain(X.placement().rows(), prefill_cut_.ffn));
  Blocks down = ops::mesh_gemm(fabric, M, weights.down);
  ops::add_bias(vectors.down_bias, down);
  ops::add(fabric, down, X);
}

void Transformer::keep_keys_and_values(const Blocks& QKV) {
  const ops::HeadLayout& heads = prefill_cut_.heads;
  const Placement placement = Placement::plain(QKV.placement().rows(), heads.key());
  Blocks keys(prefill_fabric_, placement), values(prefill_fabric_, placement);
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
