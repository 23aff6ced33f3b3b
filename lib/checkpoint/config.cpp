#include "checkpoint/config.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include <fmt/format.h>

#include "core/error.hpp"
#include "io/json.hpp"
#include "io/json_object.hpp"

namespace wafer::checkpoint {

using io::JsonObject;
namespace {

// Far above any model, and low enough that sizes in bytes of a whole model fit 63 bits.
constexpr Index widest = Index{1} << 20;
constexpr Index most_layers = 4096;
constexpr Index most_tokens = Index{1} << 24;  // of a vocabulary
constexpr Index longest_context = (Index{1} << 31) - 1;
constexpr double no_limit = 1e30;

void read_family(const JsonObject& config, ModelConfig& model) {
  model.model_type = config.text("model_type");
  const bool attention_bias = config.flag("attention_bias", false);
  if (model.model_type == "llama") {
    model.qkv_bias = model.o_bias = attention_bias;
    model.mlp_bias = config.flag("mlp_bias", false);
  } else if (model.model_type == "qwen2") {
    model.qkv_bias = true;
  } else if (model.model_type == "qwen3") {
    model.qkv_bias = model.o_bias = attention_bias;
    model.qk_norm = true;
  } else if (model.model_type != "mistral") {
    config.refuse("model_type", "llama, mistral, qwen2 or qwen3");
  }
}

void refuse_what_we_cannot_compute(const JsonObject& config) {
  if (const auto activation = config.optional_text("hidden_act"))
    if (activation != "silu" && activation != "swish") config.refuse("hidden_act", "silu");
  if (config.number_or("partial_rotary_factor", 1.0, 0.0, no_limit) != 1.0)
    config.refuse("partial_rotary_factor", "1");
  if (config.has("quantization_config")) config.refuse("quantization_config", "weights in F32, F16 or BF16");
}

void read_sizes(const JsonObject& config, ModelConfig& model) {
  model.hidden = config.whole("hidden_size", 1, widest);
  model.layers = config.whole("num_hidden_layers", 1, most_layers);
  model.heads = config.whole("num_attention_heads", 1, widest);
  model.ffn = config.whole("intermediate_size", 1, widest);
  model.vocab = config.whole("vocab_size", 1, most_tokens);
  model.context = config.whole("max_position_embeddings", 1, longest_context);
  model.kv_heads = config.optional_whole("num_key_value_heads", 1, widest).value_or(model.heads);
  if (model.heads % model.kv_heads != 0)
    config.refuse("num_key_value_heads",
                  fmt::format("a divisor of the {} of num_attention_heads", model.heads));
  model.norm_eps = config.number_or("rms_norm_eps", 1e-6, 0.0, 1.0);
  model.tied_embeddings = config.flag("tie_word_embeddings", false);
}

void read_head_dim(const JsonObject& config, ModelConfig& model) {
  if (const auto head_dim = config.optional_whole("head_dim", 1, widest)) {
    model.head_dim = *head_dim;
  } else if (model.model_type == "qwen3" && !config.mentions("head_dim")) {
    model.head_dim = 128;  // the family's default
  } else if (model.hidden % model.heads == 0) {
    model.head_dim = model.hidden / model.heads;
  } else {
    config.refuse("hidden_size", fmt::format("a multiple of the {} heads, or a head_dim", model.heads));
  }
  if (model.head_dim % 2 != 0)
    throw InputError({.what = config.where() + ": head_dim",
                      .got = std::to_string(model.head_dim),
                      .expected = "an even number, for RoPE rotates pairs"});
  if (model.heads * model.head_dim > widest)
    throw InputError({.what = config.where() + ": num_attention_heads times head_dim",
                      .got = std::to_string(model.heads * model.head_dim),
                      .expected = fmt::format("at most {}", widest)});
}

/// The entries of `layer_types`, one a layer; none where the model does not list them.
std::optional<std::vector<bool>> sliding_layers(const JsonObject& config, Index layers) {
  if (!config.has("layer_types")) return std::nullopt;
  const io::Json& types = config.at("layer_types");
  if (!types.is_array() || static_cast<Index>(types.size()) != layers)
    config.refuse("layer_types", fmt::format("a list of {} types, one a layer", layers));
  std::vector<bool> sliding;
  for (const io::Json& type : types) {
    if (type != "sliding_attention" && type != "full_attention")
      throw InputError({.what = config.where() + ": layer_types",
                        .got = io::to_text(type),
                        .expected = "full_attention or sliding_attention"});
    sliding.push_back(type == "sliding_attention");
  }
  return sliding;
}

void read_windows(const JsonObject& config, ModelConfig& model) {
  model.window.assign(static_cast<std::size_t>(model.layers), 0);
  const bool qwen = model.model_type == "qwen2" || model.model_type == "qwen3";
  if (model.model_type != "mistral" && !(qwen && config.flag("use_sliding_window", false))) return;
  constexpr Index default_window = 4096;  // of the families, where the key is absent; null is no window
  if (config.mentions("sliding_window") && !config.has("sliding_window")) return;
  const Index window = config.optional_whole("sliding_window", 1, longest_context).value_or(default_window);
  const Index first =
      qwen ? config.optional_whole("max_window_layers", 0, longest_context).value_or(28) : Index{0};
  const auto listed = qwen ? sliding_layers(config, model.layers) : std::nullopt;
  for (Index layer = 0; layer < model.layers; ++layer) {
    const auto i = static_cast<std::size_t>(layer);
    if (listed ? (*listed)[i] : layer >= first) model.window[i] = window;
  }
}

RopeType read_rope_type(const JsonObject& rope) {
  static const std::map<std::string, RopeType, std::less<>> types = {{"default", RopeType::standard},
                                                                     {"linear", RopeType::linear},
                                                                     {"dynamic", RopeType::dynamic},
                                                                     {"llama3", RopeType::llama3},
                                                                     {"yarn", RopeType::yarn}};
  const char* key = rope.has("rope_type") ? "rope_type" : "type";  // the older name
  const auto name = rope.optional_text(key);
  // A factor without a type would otherwise be dropped without a word.
  if (!name && rope.has("factor")) rope.refuse("rope_type", "the type that the factor belongs to");
  const auto found = types.find(name.value_or("default"));
  if (found == types.end()) rope.refuse(key, "default, linear, dynamic, llama3 or yarn");
  return found->second;
}

/// The parameters of `rope.type`, which is known.
void read_scaling(const JsonObject& json, Index context, RopeConfig& rope) {
  if (rope.type == RopeType::standard) return;
  rope.factor = json.number("factor", 1.0, 1e6);
  constexpr const char* original = "original_max_position_embeddings";
  if (rope.type == RopeType::llama3) {
    rope.low_freq_factor = json.number("low_freq_factor", 1e-6, 1e6);
    rope.high_freq_factor = json.number("high_freq_factor", 1e-6, 1e6);
    if (rope.high_freq_factor <= rope.low_freq_factor)
      json.refuse("high_freq_factor", fmt::format("more than low_freq_factor, {}", rope.low_freq_factor));
    rope.original_context = json.whole(original, 1, longest_context);
  }
  if (rope.type != RopeType::yarn) return;
  rope.original_context = json.optional_whole(original, 1, longest_context).value_or(context);
  rope.beta_fast = json.number_or("beta_fast", 32.0, 1e-6, 1e6);
  rope.beta_slow = json.number_or("beta_slow", 1.0, 1e-6, 1e6);
  if (rope.beta_fast < rope.beta_slow)
    json.refuse("beta_fast", fmt::format("at least beta_slow, {}", rope.beta_slow));
  rope.truncate = json.flag("truncate", true);
  rope.attention_factor = json.optional_number("attention_factor", 1e-6, 1e6);
  rope.mscale = json.optional_number("mscale", 0.0, 1e6);
  rope.mscale_all_dim = json.optional_number("mscale_all_dim", 0.0, 1e6);
}

/// `rope_parameters` (new) or `rope_scaling` (old), whichever is there; nested once more where the layer
/// types have parameters of their own, which must then be the same.
JsonObject find_rope(const JsonObject& config) {
  const char* key = config.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  if (!config.has(key)) return JsonObject(io::Json::object(), config.where());
  JsonObject outer = config.object(key);
  const io::Json& value = config.at(key);
  const auto is_object = [](const io::Json& entry) { return entry.is_object(); };
  if (std::none_of(value.begin(), value.end(), is_object)) return outer;
  for (const io::Json& entry : value)
    if (entry != value.front()) config.refuse(key, "the same parameters for all types of layers");
  return JsonObject(value.front(), outer.where());
}

void read_rope(const JsonObject& config, ModelConfig& model) {
  const JsonObject json = find_rope(config);
  RopeConfig& rope = model.rope;
  rope.type = read_rope_type(json);
  const JsonObject& owner = json.has("rope_theta") ? json : config;
  rope.theta = owner.number_or("rope_theta", 10000.0, 1.0 + 1e-6, no_limit);
  if (json.number_or("partial_rotary_factor", 1.0, 0.0, no_limit) != 1.0)
    json.refuse("partial_rotary_factor", "1");
  read_scaling(json, model.context, rope);
}

/// The end-of-text ids of one file: a number, a list or nothing.
std::vector<Index> eos_of(const JsonObject& config) {
  constexpr const char* key = "eos_token_id";
  if (!config.has(key)) return {};
  const io::Json& value = config.at(key);
  std::vector<Index> ids;
  for (const io::Json& id : value.is_array() ? value : io::Json::array({value})) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > static_cast<std::uint64_t>(most_tokens))
      config.refuse(key, fmt::format("a whole number from 0 to {}, or a list of them", most_tokens));
    ids.push_back(id.get<Index>());
  }
  return ids;
}

}  // namespace

Index ModelConfig::longest_sequence() const {
  if (rope.type != RopeType::dynamic) return context;
  return static_cast<Index>(std::floor(static_cast<double>(context) * rope.factor));
}

ModelConfig parse_config(std::string_view config_json, std::string_view generation_json,
                         const std::string& where) {
  const JsonObject config(io::parse_json(config_json, where), where);
  const std::string beside = "generation_config.json beside " + where;
  const JsonObject generation(
      generation_json.empty() ? io::Json::object() : io::parse_json(generation_json, beside), beside);
  ModelConfig model;
  read_family(config, model);
  refuse_what_we_cannot_compute(config);
  read_sizes(config, model);
  read_head_dim(config, model);
  read_windows(config, model);
  read_rope(config, model);
  model.eos_ids = eos_of(generation);
  if (model.eos_ids.empty()) model.eos_ids = eos_of(config);
  const JsonObject& owner = generation.has("bos_token_id") ? generation : config;
  model.bos_id = owner.optional_whole("bos_token_id", 0, most_tokens);
  return model;
}

}  // namespace wafer::checkpoint
