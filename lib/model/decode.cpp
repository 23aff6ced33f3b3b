// The decode plan: WaferLLM (OSDI 2025), Fig. 4. GEMVs alternate the axis they reduce on, so nothing is ever
// transposed.
#include <utility>

#include "core/error.hpp"
#include "fabric/redistribute.hpp"
#include "model/rope_frequencies.hpp"
#include "model/transformer.hpp"
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
  start_phase("decode");
  Blocks h = decode_embedding(id);
  ++tokens_;
  cache_.begin_token();
  frequencies_ = rope_frequencies(*config_, tokens_);
  look(0, h);
  for_layers(
      decode_fabric_.execution(),
      [&](Index layer) {
        h = decode_layer(layer, std::move(h));
        if (layer + 1 < config_->layers) look(layer + 1, h);
      },
      [&](Index layer) { cache_.hold(layer); });
  h_ = decode_final_norm(h);
  look(config_->layers, *h_);
}

Blocks Transformer::decode_embedding(Index id) {
  const auto span = known(decode_fabric_, Part::embedding, 0, 1);
  if (leaves_out(span)) return Blocks(decode_fabric_, Placement::copied(Axis::x, decode_cut_.hidden_y));
  return stored(decode_fabric_, ops::embed_token(decode_fabric_, table_, id));
}

Blocks Transformer::decode_product(const char* role, Axis axis, const Blocks& vector, const Blocks& matrix) {
  const plmr::Operator charged(decode_fabric_.execution(), role);
  return ops::mesh_gemv(decode_fabric_, axis, axis == Axis::y ? decode_columns_ : decode_rows_, vector,
                        matrix);
}

Blocks Transformer::decode_qkv(Index layer, const Blocks& h) {
  const auto& fabric = decode_fabric_;
  const auto span = known(fabric, Part::qkv, 0, 1);
  const ops::HeadLayout& heads = decode_cut_.heads;
  if (leaves_out(span)) return Blocks(fabric, Placement::copied(Axis::y, heads.fused()));
  const LayerVectors& vectors = vectors_[at(layer)];
  const auto eps = static_cast<float>(config_->norm_eps);
  const auto one_token = [](Index) { return Index{1}; };

  const Blocks a =
      stored(fabric, ops::rms_norm_vector(fabric, h, vectors.attention_norm, eps, decode_copies_));
  Blocks QKV = decode_product("qkv", Axis::y, a, layers_[at(layer)].qkv);
  ops::add_bias(fabric, vectors.qkv_bias, QKV);
  store(fabric, QKV);
  if (config_->qk_norm) {
    ops::qk_norm(fabric, heads, decode_run_copies_, fabric::first_lines(fabric, Axis::x),
                 {vectors.q_norm, vectors.k_norm, eps},
                 {one_token, [&](CoreCoord core) { return QKV(0, core.x); }});
    store(fabric, QKV);
  }
  ops::charge_rope(fabric, heads, one_token);
  const mesh::Range columns = fabric.tile().columns;
  for (Index x = columns.begin; x < columns.end && fabric.tile().cores() > 0; ++x)
    ops::rope(heads, x, frequencies_, tokens_ - 1, QKV(0, x));
  store(fabric, QKV);
  return QKV;
}

Blocks Transformer::decode_attention(Index layer, const Blocks& QKV) {
  const Index window = config_->window[at(layer)];
  const auto span = known(decode_fabric_, Part::attention, window, tokens_);
  cache_.append(layer, QKV);  // before the scores: a token sees itself
  if (leaves_out(span)) return Blocks(decode_fabric_, Placement::copied(Axis::y, decode_cut_.heads.query()));
  ops::CacheView cache = cache_.view(layer);
  cache.storage = options_.storage;
  return stored(decode_fabric_, decode_attention_.run(QKV, cache, tokens_ - 1, window));
}

Blocks Transformer::decode_layer(Index layer, Blocks h) {
  const Blocks A = decode_attention(layer, decode_qkv(layer, h));
  decode_rest_of_layer(layer, A, h);
  return h;
}

void Transformer::decode_rest_of_layer(Index layer, const Blocks& A, Blocks& h) {
  const auto& fabric = decode_fabric_;
  const LayerVectors& vectors = vectors_[at(layer)];
  const LayerMatrices& weights = layers_[at(layer)];
  const auto span = known(fabric, Part::rest_of_layer, 0, 1);
  if (leaves_out(span)) return;
  Blocks O = decode_product("o", Axis::x, A, weights.o);
  ops::add_bias(fabric, vectors.o_bias, O);
  store(fabric, O);
  ops::add(fabric, O, h);
  store(fabric, h);

  const Blocks b =
      stored(fabric, ops::rms_norm_vector(fabric, h, vectors.ffn_norm, static_cast<float>(config_->norm_eps),
                                          decode_copies_));
  Blocks gate_up = decode_product("gate_up", Axis::y, b, weights.gate_up);
  ops::add_bias(fabric, vectors.gate_up_bias, gate_up);
  store(fabric, gate_up);
  const Blocks M =
      stored(fabric, ops::silu_product(fabric, gate_up, Placement::copied(Axis::y, decode_cut_.ffn)));
  Blocks down = decode_product("down", Axis::x, M, weights.down);
  ops::add_bias(fabric, vectors.down_bias, down);
  store(fabric, down);
  ops::add(fabric, down, h);
  store(fabric, h);
}

Blocks Transformer::decode_final_norm(const Blocks& h) {
  const auto span = known(decode_fabric_, Part::final_norm, 0, 1);
  if (leaves_out(span)) return Blocks(decode_fabric_, h.placement());
  return stored(decode_fabric_, ops::rms_norm_vector(decode_fabric_, h, final_norm_,
                                                     static_cast<float>(config_->norm_eps), decode_copies_));
}

}  // namespace wafer::model
