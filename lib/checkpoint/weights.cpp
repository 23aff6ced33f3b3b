#include <fmt/format.h>

#include "checkpoint/checkpoint.hpp"
#include "core/error.hpp"

namespace wafer::checkpoint {
namespace {

/// What follows "model.layers.3." in the name of a layer's tensor; empty for the tensors of the model.
const char* layer_name_of(Weight weight) {
  switch (weight) {
  case Weight::attention_norm:
    return "input_layernorm.weight";
  case Weight::ffn_norm:
    return "post_attention_layernorm.weight";
  case Weight::q:
    return "self_attn.q_proj.weight";
  case Weight::k:
    return "self_attn.k_proj.weight";
  case Weight::v:
    return "self_attn.v_proj.weight";
  case Weight::o:
    return "self_attn.o_proj.weight";
  case Weight::q_bias:
    return "self_attn.q_proj.bias";
  case Weight::k_bias:
    return "self_attn.k_proj.bias";
  case Weight::v_bias:
    return "self_attn.v_proj.bias";
  case Weight::o_bias:
    return "self_attn.o_proj.bias";
  case Weight::q_norm:
    return "self_attn.q_norm.weight";
  case Weight::k_norm:
    return "self_attn.k_norm.weight";
  case Weight::gate:
    return "mlp.gate_proj.weight";
  case Weight::up:
    return "mlp.up_proj.weight";
  case Weight::down:
    return "mlp.down_proj.weight";
  case Weight::gate_bias:
    return "mlp.gate_proj.bias";
  case Weight::up_bias:
    return "mlp.up_proj.bias";
  case Weight::down_bias:
    return "mlp.down_proj.bias";
  case Weight::embedding:
  case Weight::lm_head:
  case Weight::final_norm:
    break;
  }
  return "";
}

/// The tensors of one layer.
std::vector<Weight> layer_weights(const ModelConfig& config) {
  using enum Weight;
  std::vector<Weight> weights = {attention_norm, q, k, v, o};
  if (config.qkv_bias) weights.insert(weights.end(), {q_bias, k_bias, v_bias});
  if (config.o_bias) weights.push_back(o_bias);
  if (config.qk_norm) weights.insert(weights.end(), {q_norm, k_norm});
  weights.insert(weights.end(), {ffn_norm, gate, up, down});
  if (config.mlp_bias) weights.insert(weights.end(), {gate_bias, up_bias, down_bias});
  return weights;
}

}  // namespace

std::vector<WeightId> weights_of(const ModelConfig& config) {
  std::vector<WeightId> ids = {{Weight::embedding, 0}};
  const std::vector<Weight> per_layer = layer_weights(config);
  for (Index layer = 0; layer < config.layers; ++layer)
    for (const Weight weight : per_layer) ids.push_back({weight, layer});
  ids.push_back({Weight::final_norm, 0});
  if (!config.tied_embeddings) ids.push_back({Weight::lm_head, 0});
  return ids;
}

Shape shape_of(const ModelConfig& config, WeightId id) {
  const Index q_width = config.heads * config.head_dim;
  const Index kv_width = config.kv_heads * config.head_dim;
  switch (id.weight) {
  case Weight::embedding:
  case Weight::lm_head:
    return {config.vocab, config.hidden};
  case Weight::final_norm:
  case Weight::attention_norm:
  case Weight::ffn_norm:
  case Weight::o_bias:
  case Weight::down_bias:
    return {1, config.hidden};
  case Weight::q:
    return {q_width, config.hidden};
  case Weight::k:
  case Weight::v:
    return {kv_width, config.hidden};
  case Weight::o:
    return {config.hidden, q_width};
  case Weight::q_bias:
    return {1, q_width};
  case Weight::k_bias:
  case Weight::v_bias:
    return {1, kv_width};
  case Weight::q_norm:
  case Weight::k_norm:
    return {1, config.head_dim};
  case Weight::gate:
  case Weight::up:
    return {config.ffn, config.hidden};
  case Weight::down:
    return {config.hidden, config.ffn};
  case Weight::gate_bias:
  case Weight::up_bias:
    return {1, config.ffn};
  }
  WAFER_CHECK(false, "a weight that does not exist");
  return {};
}

bool is_matrix(Weight weight) {
  switch (weight) {
  case Weight::embedding:
  case Weight::lm_head:
  case Weight::q:
  case Weight::k:
  case Weight::v:
  case Weight::o:
  case Weight::gate:
  case Weight::up:
  case Weight::down:
    return true;
  default:
    return false;
  }
}

std::string name_of(WeightId id) {
  if (id.weight == Weight::embedding) return "model.embed_tokens.weight";
  if (id.weight == Weight::lm_head) return "lm_head.weight";
  if (id.weight == Weight::final_norm) return "model.norm.weight";
  return fmt::format("model.layers.{}.{}", id.layer, layer_name_of(id.weight));
}

}  // namespace wafer::checkpoint
