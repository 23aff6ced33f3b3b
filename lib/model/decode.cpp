// The decode plan: WaferLLM (OSDI 2025), Fig. 4. GEMVs alternate the axis they reduce on, so nothing is ever
// transposed.
#include <utility>

#include "core/error.hpp"
#include "fabric/redistribute.hpp"
#include "model/rope_frequencies.hpp"
#include "model/transformer.hpp"
#include "ops/decode_attention.hpp"
#include "ops/elementwise.hpp"
#include "ops/embedding.hpp"
#include "ops/gemv.hpp"
#include "ops/qk_norm.hpp"
#include "ops/rms_norm.hpp"

namespace wafer::model {

using fabric::Blocks, fabric::Placement;
using mesh::Axis, mesh::CoreCoord;

void Transformer::decode(Index id, const HiddenObserver& observe) {
  WAFER_CHECK(!placed_for_prefill_ && prompt_.empty(), "decode follows the transition");
  check_sequence(std::span(&id, 1));
  const auto look = [&](Index layer, const Blocks& h) {
    if (observe) observe(layer, fabric::gather(decode_fabric_, h));
  };
  Blocks h = ops::embed_token(decode_fabric_, table_, id);
  ++tokens_;
  cache_.begin_token();
  look(0, h);
  for (Index layer = 0; layer < config_->layers; ++layer) {
    h = decode_layer(layer, std::move(h));
    if (layer + 1 < config_->layers) look(layer + 1, h);
  }
  h_ = ops::rms_norm_vector(decode_fabric_, h, final_norm_, static_cast<float>(config_->norm_eps),
                            decode_copies_);
  look(config_->layers, *h_);
}

Blocks Transformer::decode_layer(Index layer, Blocks h) {
  const auto& fabric = decode_fabric_;
  const ops::HeadLayout& heads = decode_cut_.heads;
  const LayerVectors& vectors = vectors_[at(layer)];
  const LayerMatrices& weights = layers_[at(layer)];
  const auto eps = static_cast<float>(config_->norm_eps);

  const Blocks a = ops::rms_norm_vector(fabric, h, vectors.attention_norm, eps, decode_copies_);
  Blocks QKV = ops::mesh_gemv(fabric, Axis::y, decode_columns_, a, weights.qkv);
  ops::add_bias(vectors.qkv_bias, QKV);
  if (config_->qk_norm)
    ops::qk_norm(fabric, heads, decode_run_copies_, fabric::first_lines(fabric, Axis::x),
                 {vectors.q_norm, vectors.k_norm, eps}, [&](CoreCoord core) { return QKV(0, core.x); });
  const auto frequencies = rope_frequencies(*config_, tokens_);
  const mesh::Range columns = fabric.tile().columns;
  for (Index x = columns.begin; x < columns.end && fabric.tile().cores() > 0; ++x)
    ops::rope(heads, x, frequencies, tokens_ - 1, QKV(0, x));
  cache_.append(layer, QKV);  // before the scores: a token sees itself

  const Blocks A = ops::decode_attention(fabric, heads, QKV, cache_.view(layer), tokens_ - 1,
                                         config_->window[at(layer)], decode_columns_);
  Blocks O = ops::mesh_gemv(fabric, Axis::x, decode_rows_, A, weights.o);
  ops::add_bias(vectors.o_bias, O);
  ops::add(fabric, O, h);

  const Blocks b = ops::rms_norm_vector(fabric, h, vectors.ffn_norm, eps, decode_copies_);
  Blocks gate_up = ops::mesh_gemv(fabric, Axis::y, decode_columns_, b, weights.gate_up);
  ops::add_bias(vectors.gate_up_bias, gate_up);
  const Blocks M = ops::silu_product(fabric, gate_up, Placement::copied(Axis::y, decode_cut_.ffn));
  Blocks down = ops::mesh_gemv(fabric, Axis::x, decode_rows_, M, weights.down);
  ops::add_bias(vectors.down_bias, down);
  ops::add(fabric, down, h);
  return h;
}

}  // namespace wafer::model
