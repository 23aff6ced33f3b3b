#include "checkpoint/config.hpp"

#include "io/helpers.hpp"
#include "io/json.hpp"

namespace wafer::checkpoint {
namespace {

using io::Json;
using test::contains;
using test::input_error_of;

Json base(const char* family) {
  return {{"model_type", family},     {"hidden_size", 64},
          {"num_hidden_layers", 3},   {"num_attention_heads", 8},
          {"num_key_value_heads", 2}, {"intermediate_size", 100},
          {"vocab_size", 300},        {"max_position_embeddings", 256}};
}

/// A configuration with some keys set otherwise.
Json with(Json config, const Json& changes) {
  config.update(changes);
  return config;
}

ModelConfig parse(const Json& config, const Json& generation = nullptr) {
  return parse_config(io::to_text(config), generation.is_null() ? std::string() : io::to_text(generation),
                      "dir/config.json");
}

std::string error_of(const Json& config) {
  return input_error_of([&] { parse(config); });
}

std::string error_with(const Json& changes) { return error_of(with(base("llama"), changes)); }

TEST_CASE("sizes are read by name") {
  const ModelConfig model =
      parse(with(base("llama"), {{"rms_norm_eps", 1e-5}, {"tie_word_embeddings", true}}));
  CHECK(model.model_type == "llama");
  CHECK(model.hidden == 64);
  CHECK(model.layers == 3);
  CHECK(model.heads == 8);
  CHECK(model.kv_heads == 2);
  CHECK(model.group() == 4);
  CHECK(model.head_dim == 8);
  CHECK(model.ffn == 100);
  CHECK(model.vocab == 300);
  CHECK(model.context == 256);
  CHECK(model.longest_sequence() == 256);
  CHECK(model.norm_eps == 1e-5);
  CHECK(model.tied_embeddings);
}

TEST_CASE("what is absent or null has the family's default") {
  Json json = with(base("llama"), {{"head_dim", nullptr}, {"num_key_value_heads", nullptr}});
  CHECK(parse(json).kv_heads == 8);
  CHECK(parse(json).head_dim == 8);
  json.erase("num_key_value_heads");
  const ModelConfig model = parse(json);
  CHECK(model.kv_heads == 8);
  CHECK(model.norm_eps == 1e-6);
  CHECK_FALSE(model.tied_embeddings);
  CHECK(model.rope.theta == 10000.0);
  CHECK(model.rope.type == RopeType::standard);
  CHECK(model.eos_ids.empty());
  CHECK_FALSE(model.bos_id.has_value());
  CHECK(parse(base("qwen3")).head_dim == 128);
  CHECK(parse(with(base("qwen3"), {{"head_dim", nullptr}})).head_dim == 8);
  CHECK(parse(with(base("mistral"), {{"head_dim", 32}, {"hidden_size", 63}})).head_dim == 32);
}

TEST_CASE("biases and norms of q and k are the family's") {
  const Json asked = {{"attention_bias", true}, {"mlp_bias", true}};
  const auto flags = [](const ModelConfig& m) {
    return std::vector<bool>{m.qkv_bias, m.o_bias, m.mlp_bias, m.qk_norm};
  };
  CHECK(flags(parse(base("llama"))) == std::vector<bool>{false, false, false, false});
  CHECK(flags(parse(with(base("llama"), asked))) == std::vector<bool>{true, true, true, false});
  CHECK(flags(parse(with(base("mistral"), asked))) == std::vector<bool>{false, false, false, false});
  CHECK(flags(parse(base("qwen2"))) == std::vector<bool>{true, false, false, false});
  CHECK(flags(parse(with(base("qwen2"), asked))) == std::vector<bool>{true, false, false, false});
  CHECK(flags(parse(base("qwen3"))) == std::vector<bool>{false, false, false, true});
  CHECK(flags(parse(with(base("qwen3"), asked))) == std::vector<bool>{true, true, false, true});
}

TEST_CASE("windows follow the family's rule") {
  using Windows = std::vector<Index>;
  CHECK(parse(with(base("llama"), {{"sliding_window", 7}})).window == Windows{0, 0, 0});
  CHECK(parse(with(base("mistral"), {{"sliding_window", 7}})).window == Windows{7, 7, 7});
  CHECK(parse(with(base("mistral"), {{"sliding_window", nullptr}})).window == Windows{0, 0, 0});
  CHECK(parse(base("mistral")).window == Windows{4096, 4096, 4096});
  for (const char* family : {"qwen2", "qwen3"}) {
    const Json off = with(base(family), {{"sliding_window", 7}, {"max_window_layers", 1}});
    CHECK(parse(off).window == Windows{0, 0, 0});
    const Json on = with(off, {{"use_sliding_window", true}});
    CHECK(parse(on).window == Windows{0, 7, 7});
    CHECK(parse(with(on, {{"sliding_window", nullptr}})).window == Windows{0, 0, 0});
    CHECK(parse(with(on, {{"max_window_layers", 28}})).window == Windows{0, 0, 0});
    const Json types = {"sliding_attention", "full_attention", "sliding_attention"};
    CHECK(parse(with(on, {{"layer_types", types}})).window == Windows{7, 0, 7});
    CHECK(parse(with(off, {{"layer_types", types}})).window == Windows{0, 0, 0});
    CHECK_THAT(error_of(with(on, {{"layer_types", {"full_attention"}}})), contains("a list of 3 types"));
    CHECK_THAT(error_of(with(on, {{"layer_types", {"full_attention", "odd_attention", "full_attention"}}})),
               contains("got \"odd_attention\""));
  }
}

TEST_CASE("old and new spellings of RoPE mean the same") {
  const Json scaling = {{"factor", 8.0},
                        {"low_freq_factor", 1.0},
                        {"high_freq_factor", 4.0},
                        {"original_max_position_embeddings", 64}};
  const Json old = with(
      base("llama"), {{"rope_theta", 500000.0}, {"rope_scaling", with(scaling, {{"rope_type", "llama3"}})}});
  const Json older =
      with(base("llama"), {{"rope_theta", 500000.0}, {"rope_scaling", with(scaling, {{"type", "llama3"}})}});
  const Json parameters = with(scaling, {{"rope_type", "llama3"}, {"rope_theta", 500000.0}});
  const Json recent = with(base("llama"), {{"rope_parameters", parameters}});
  const Json nested =
      with(base("llama"),
           {{"rope_parameters", {{"full_attention", parameters}, {"sliding_attention", parameters}}}});
  for (const Json& json : {old, older, recent, nested}) {
    const RopeConfig rope = parse(json).rope;
    CHECK(rope.type == RopeType::llama3);
    CHECK(rope.theta == 500000.0);
    CHECK(rope.factor == 8.0);
    CHECK(rope.low_freq_factor == 1.0);
    CHECK(rope.high_freq_factor == 4.0);
    CHECK(rope.original_context == 64);
  }
  Json differing = nested;
  differing["rope_parameters"]["sliding_attention"]["rope_theta"] = 10000.0;
  CHECK_THAT(error_of(differing), contains("the same parameters for all types of layers"));
  differing["rope_parameters"]["sliding_attention"] = nullptr;
  CHECK_THAT(error_of(differing), contains("the same parameters for all types of layers"));
}

TEST_CASE("every type of RoPE has its parameters") {
  const auto rope = [](const Json& parameters) {
    return parse(with(base("qwen2"), {{"rope_parameters", parameters}})).rope;
  };
  CHECK(rope({{"rope_type", "default"}, {"rope_theta", 1e6}}).theta == 1e6);
  CHECK(rope({{"rope_type", "linear"}, {"factor", 2}}).factor == 2.0);
  const RopeConfig plain = rope({{"rope_type", "yarn"}, {"factor", 4.0}});
  CHECK(plain.original_context == 256);
  CHECK(plain.beta_fast == 32.0);
  CHECK(plain.beta_slow == 1.0);
  CHECK(plain.truncate);
  CHECK_FALSE(plain.attention_factor.has_value());
  const RopeConfig full = rope({{"rope_type", "yarn"},
                                {"factor", 4.0},
                                {"original_max_position_embeddings", 32},
                                {"beta_fast", 16},
                                {"beta_slow", 2},
                                {"truncate", false},
                                {"attention_factor", 1.5},
                                {"mscale", 0.7},
                                {"mscale_all_dim", 0.8}});
  CHECK(full.original_context == 32);
  CHECK(full.beta_fast == 16.0);
  CHECK(full.beta_slow == 2.0);
  CHECK_FALSE(full.truncate);
  CHECK(full.attention_factor == 1.5);
  CHECK(full.mscale == 0.7);
  CHECK(full.mscale_all_dim == 0.8);
}

TEST_CASE("dynamic RoPE makes sequences longer than the context") {
  const Json json = with(base("llama"), {{"rope_scaling", {{"type", "dynamic"}, {"factor", 2.5}}}});
  CHECK(parse(json).longest_sequence() == 640);
  const Json linear = with(base("llama"), {{"rope_scaling", {{"type", "linear"}, {"factor", 2.5}}}});
  CHECK(parse(linear).longest_sequence() == 256);
}

TEST_CASE("RoPE that we do not know or that lacks a parameter is refused by name") {
  const auto error_of_rope = [](const Json& rope) { return error_with({{"rope_scaling", rope}}); };
  CHECK_THAT(error_of_rope({{"rope_type", "longrope"}}), contains("rope_type; got \"longrope\""));
  CHECK_THAT(error_of_rope({{"type", "mrope"}}), contains("type; got \"mrope\""));
  CHECK_THAT(error_of_rope({{"factor", 2.0}}), contains("rope_type; got nothing"));
  for (const char* type : {"linear", "dynamic", "llama3", "yarn"})
    CHECK_THAT(error_of_rope({{"rope_type", type}}), contains("factor; got nothing"));
  Json llama3 = {{"rope_type", "llama3"},
                 {"factor", 8},
                 {"low_freq_factor", 1},
                 {"high_freq_factor", 4},
                 {"original_max_position_embeddings", 64}};
  CHECK(error_of_rope(llama3) == "nothing was thrown");
  for (const char* key : {"low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}) {
    Json lacking = llama3;
    lacking.erase(key);
    CHECK_THAT(error_of_rope(lacking), contains(std::string(key) + "; got nothing"));
  }
  CHECK_THAT(error_of_rope(with(llama3, {{"high_freq_factor", 1}})), contains("more than low_freq_factor"));
  CHECK_THAT(error_of_rope({{"rope_type", "linear"}, {"factor", 0.5}}), contains("factor; got 0.5"));
  CHECK_THAT(error_of_rope({{"rope_type", "default"}, {"partial_rotary_factor", 0.5}}),
             contains("partial_rotary_factor"));
  CHECK_THAT(error_of_rope("yarn"), contains("rope_scaling; got \"yarn\"; expected an object"));
  CHECK_THAT(error_with({{"rope_theta", 0}}), contains("rope_theta"));
}

TEST_CASE("end of text is the generation's, else the model's, one or several") {
  using Ids = std::vector<Index>;
  const Json model = with(base("llama"), {{"eos_token_id", 2}, {"bos_token_id", 1}});
  CHECK(parse(model).eos_ids == Ids{2});
  CHECK(parse(model).bos_id == 1);
  CHECK(parse(model, {{"eos_token_id", {5, 6}}}).eos_ids == Ids{5, 6});
  CHECK(parse(model, {{"eos_token_id", nullptr}}).eos_ids == Ids{2});
  CHECK(parse(model, {{"bos_token_id", 7}}).bos_id == 7);
  CHECK_THAT(error_of(with(model, {{"eos_token_id", -1}})), contains("eos_token_id; got -1"));
  CHECK_THAT(input_error_of([&] {
               parse(model, {{"eos_token_id", "end"}});
             }),
             contains("generation_config.json beside dir/config.json: eos_token_id; got \"end\""));
}

TEST_CASE("a required key that is missing is named, with the file") {
  for (const char* key : {"model_type", "hidden_size", "num_hidden_layers", "num_attention_heads",
                          "intermediate_size", "vocab_size", "max_position_embeddings"}) {
    Json json = base("llama");
    json.erase(key);
    CHECK_THAT(error_of(json), contains("dir/config.json: " + std::string(key) + "; got nothing"));
  }
}

TEST_CASE("numbers out of range are refused by name") {
  for (const char* key : {"hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
                          "head_dim", "intermediate_size", "vocab_size", "max_position_embeddings"}) {
    for (const Json& wrong :
         {Json(0), Json(-4), Json(64.5), Json("64"), Json(std::uint64_t{1} << 63), Json(1e30)})
      CHECK_THAT(error_with({{key, wrong}}), contains("dir/config.json: " + std::string(key) + "; got "));
  }
  CHECK_THAT(error_with({{"num_key_value_heads", 3}}), contains("a divisor of the 8"));
  CHECK_THAT(error_with({{"head_dim", 7}}), contains("head_dim; got 7; expected an even number"));
  CHECK_THAT(error_with({{"hidden_size", 65}}), contains("hidden_size; got 65"));
  CHECK_THAT(error_with({{"head_dim", 1 << 20}}), contains("num_attention_heads times head_dim"));
  CHECK_THAT(error_with({{"rms_norm_eps", -1e-6}}), contains("rms_norm_eps"));
  CHECK_THAT(error_with({{"tie_word_embeddings", 1}}), contains("tie_word_embeddings; got 1"));
}

TEST_CASE("what we do not compute is refused by name") {
  CHECK_THAT(error_of(base("gemma2")),
             contains("model_type; got \"gemma2\"; expected llama, mistral, qwen2 or qwen3"));
  CHECK_THAT(error_with({{"hidden_act", "gelu"}}), contains("hidden_act; got \"gelu\"; expected silu"));
  CHECK(error_with({{"hidden_act", "swish"}}) == "nothing was thrown");
  CHECK_THAT(error_with({{"partial_rotary_factor", 0.5}}), contains("partial_rotary_factor; got 0.5"));
  CHECK(error_with({{"partial_rotary_factor", 1.0}}) == "nothing was thrown");
  CHECK_THAT(error_with({{"quantization_config", {{"quant_method", "awq"}}}}), contains("awq"));
}

TEST_CASE("what is no JSON object is refused") {
  const auto error = [](const char* text) {
    return input_error_of([&] { parse_config(text, "", "dir/config.json"); });
  };
  CHECK_THAT(error(""), contains("dir/config.json is not valid JSON"));
  CHECK_THAT(error("[1]"), contains("a JSON object"));
  CHECK_THAT(error("{\"hidden_size\": 1, \"hidden_size\": 2}"), contains("twice"));
}

}  // namespace
}  // namespace wafer::checkpoint
