#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/view.hpp"

namespace wafer::checkpoint {

/// How RoPE's frequencies are made longer. Names as in Hugging Face's `rope_type`, but for `default`.
enum class RopeType { standard, linear, dynamic, llama3, yarn };

struct RopeConfig {
  RopeType type = RopeType::standard;
  double theta = 10000.0;
  double factor = 1.0;                     // linear, dynamic, llama3, yarn
  double low_freq_factor = 1.0;            // llama3
  double high_freq_factor = 4.0;           // llama3
  Index original_context = 0;              // llama3, yarn  [tokens]
  double beta_fast = 32.0;                 // yarn
  double beta_slow = 1.0;                  // yarn
  bool truncate = true;                    // yarn: whole-numbered correction range
  std::optional<double> attention_factor;  // yarn: as given
  std::optional<double> mscale;            // yarn
  std::optional<double> mscale_all_dim;    // yarn
};

/// What a model of the families llama, mistral, qwen2 and qwen3 needs to be run.
struct ModelConfig {
  std::string model_type;
  Index hidden = 0;  // E
  Index layers = 0;
  Index heads = 0;  // query heads
  Index kv_heads = 0;
  Index head_dim = 0;  // d, even; need not be hidden / heads
  Index ffn = 0;       // F
  Index vocab = 0;     // V
  Index context = 0;   // max_position_embeddings  [tokens]
  double norm_eps = 1e-6;
  bool tied_embeddings = false;
  bool qkv_bias = false;
  bool o_bias = false;
  bool mlp_bias = false;
  bool qk_norm = false;  // RMSNorm of q and k over head_dim, before RoPE
  RopeConfig rope;
  std::vector<Index> window;   // (layers) keys visible to a query, itself included; 0 = all
  std::vector<Index> eos_ids;  // generation_config.json's, else config.json's
  std::optional<Index> bos_id;

  Index group() const { return heads / kv_heads; }  ///< query heads per KV head
  /// Longest sequence that may be run: `context`, or `context * factor` where dynamic RoPE stretches it.
  /// [tokens]
  Index longest_sequence() const;
};

/// Reads config.json (old `rope_theta` + `rope_scaling` and new `rope_parameters`) and, where
/// `generation_json` is not empty, generation_config.json. `where` names the file in messages.
/// @throws InputError for malformed JSON, a missing key, an unknown model_type, RoPE type or activation, a
/// number out of range, KV heads that do not divide the heads: by name, with what was found.
ModelConfig parse_config(std::string_view config_json, std::string_view generation_json,
                         const std::string& where);

}  // namespace wafer::checkpoint
