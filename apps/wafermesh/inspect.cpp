// wafermesh inspect: a model's configuration and how it lies on a mesh.
#include <algorithm>
#include <memory>
#include <numeric>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "wafermesh/common.hpp"

namespace wafer::app {

using checkpoint::Checkpoint, checkpoint::ModelConfig, checkpoint::RopeType, checkpoint::Weight;
using fabric::Communicator;

namespace {

// Over the cores of a mesh, or over its columns. [bytes]
struct Spread {
  Index least = 0;
  double mean = 0.0;
  Index most = 0;
};

// Of products a[i] b[j] for all i and j.
Spread spread_of(const std::vector<Index>& a, const std::vector<Index>& b) {
  const auto sum = [](const auto& v) {
    return static_cast<double>(std::accumulate(v.begin(), v.end(), Index{0}));
  };
  return {*std::min_element(a.begin(), a.end()) * *std::min_element(b.begin(), b.end()),
          sum(a) * sum(b) / static_cast<double>(a.size() * b.size()),
          *std::max_element(a.begin(), a.end()) * *std::max_element(b.begin(), b.end())};
}

// Bytes of an element of several tensors side by side: as stored, float32 where their types differ.
Index element_bytes(const Checkpoint& checkpoint, Index layer, const std::vector<Weight>& weights) {
  const DType type = checkpoint.dtype({weights.front(), layer});
  for (const Weight weight : weights)
    if (checkpoint.dtype({weight, layer}) != type) return static_cast<Index>(size_of(DType::f32));
  return static_cast<Index>(size_of(type));
}

// Matrices on every core while decode runs. Cores of a column differ by their share of E alone.
Spread weight_bytes(const Checkpoint& checkpoint, const model::Cut& cut, mesh::Mesh mesh) {
  using enum Weight;
  const ModelConfig& config = checkpoint.config();
  std::vector<Index> rows, columns;
  for (Index y = 0; y < mesh.height; ++y) rows.push_back(cut.hidden_y.size(y));
  Index qkv_bytes = 0, o_bytes = 0, gate_up_bytes = 0, down_bytes = 0;  // an element, all layers
  for (Index layer = 0; layer < config.layers; ++layer) {
    qkv_bytes += element_bytes(checkpoint, layer, {q, k, v});
    o_bytes += element_bytes(checkpoint, layer, {o});
    gate_up_bytes += element_bytes(checkpoint, layer, {gate, up});
    down_bytes += element_bytes(checkpoint, layer, {down});
  }
  Index table_bytes = element_bytes(checkpoint, 0, {embedding});
  if (!config.tied_embeddings) table_bytes += element_bytes(checkpoint, 0, {lm_head});
  for (Index x = 0; x < mesh.width; ++x)
    columns.push_back(qkv_bytes * cut.heads.fused().size(x) + o_bytes * cut.heads.query().size(x) +
                      gate_up_bytes * cut.gate_up.size(x) + down_bytes * cut.ffn.size(x) +
                      table_bytes * cut.vocab.size(x));
  return spread_of(rows, columns);
}

// Keys and values of one token, on each core of the row that has it.
Spread kv_bytes(const ModelConfig& config, const model::Cut& cut, mesh::Mesh mesh) {
  std::vector<Index> columns;
  for (Index x = 0; x < mesh.width; ++x)
    columns.push_back(2 * config.layers * cut.heads.key().size(x) * static_cast<Index>(sizeof(float)));
  return spread_of({1}, columns);
}

std::string name_of(RopeType type) {
  switch (type) {
  case RopeType::linear:
    return "linear";
  case RopeType::dynamic:
    return "dynamic";
  case RopeType::llama3:
    return "llama3";
  case RopeType::yarn:
    return "yarn";
  case RopeType::standard:
    break;
  }
  return "default";
}

std::vector<std::string> biases_of(const ModelConfig& config) {
  std::vector<std::string> biases;
  if (config.qkv_bias) biases.emplace_back("qkv");
  if (config.o_bias) biases.emplace_back("o");
  if (config.mlp_bias) biases.emplace_back("mlp");
  return biases;
}

io::Json config_json(const Checkpoint& checkpoint) {
  const ModelConfig& config = checkpoint.config();
  return {{"model_type", config.model_type},
          {"layers", config.layers},
          {"hidden", config.hidden},
          {"heads", config.heads},
          {"kv_heads", config.kv_heads},
          {"head_dim", config.head_dim},
          {"ffn", config.ffn},
          {"vocab", config.vocab},
          {"context", config.context},
          {"rope_type", name_of(config.rope.type)},
          {"rope_theta", config.rope.theta},
          {"rope_factor", config.rope.factor},
          {"windows", config.window},
          {"tied_embeddings", config.tied_embeddings},
          {"biases", biases_of(config)},
          {"qk_norm", config.qk_norm},
          {"eos_ids", config.eos_ids},
          {"tokenizer", !checkpoint.tokenizer_json().empty()},
          {"weight_bytes", checkpoint.bytes()}};
}

std::string config_text(const Checkpoint& checkpoint) {
  const ModelConfig& config = checkpoint.config();
  const auto biases = biases_of(config);
  const Index window = *std::max_element(config.window.begin(), config.window.end());
  const auto windowed =
      std::count_if(config.window.begin(), config.window.end(), [](Index w) { return w > 0; });
  return fmt::format(
      "model      {}, {} layers, {} of weights, {}\n"
      "shape      hidden {}, {} heads, {} KV heads, head_dim {}, ffn {}, vocabulary {}, context {}\n"
      "rope       {}, theta {:g}, factor {:g}\n"
      "window     {}\n"
      "parts      {} embeddings; biases: {}; {} norm of queries and keys\n",
      config.model_type, config.layers, format_bytes(checkpoint.bytes()),
      checkpoint.tokenizer_json().empty() ? "no tokenizer" : "with tokenizer", config.hidden, config.heads,
      config.kv_heads, config.head_dim, config.ffn, config.vocab, config.context, name_of(config.rope.type),
      config.rope.theta, config.rope.factor,
      windowed == 0 ? "none" : fmt::format("{} tokens in {} of {} layers", window, windowed, config.layers),
      config.tied_embeddings ? "tied" : "separate",
      biases.empty() ? "none" : fmt::format("{}", fmt::join(biases, ", ")), config.qk_norm ? "with" : "no");
}

io::Json to_json(const Spread& spread) {
  return {{"least", spread.least}, {"mean", spread.mean}, {"most", spread.most}};
}

std::string to_text(const Spread& spread) {
  return fmt::format("{} / {} / {}", format_bytes(spread.least),
                     format_bytes(static_cast<std::int64_t>(spread.mean)), format_bytes(spread.most));
}

// "3" or "3-5".
std::string to_text(mesh::Range range) {
  if (range.size() == 1) return std::to_string(range.begin);
  return fmt::format("{}-{}", range.begin, range.end - 1);
}

// How the heads lie on a mesh; one run of columns an entry.
Result heads_on(const ops::HeadLayout& heads, mesh::Mesh mesh, const std::string& phase) {
  Result result{
      io::Json::array(),
      fmt::format("{:<10} mesh {}: {} runs of columns, query dimensions a column max / mean {:.2f}\n", phase,
                  to_string(mesh), heads.runs().size(), heads.imbalance())};
  for (const mesh::Range& run : heads.runs()) {
    if (run.size() == 0) continue;
    const mesh::Range kv = heads.kv_heads_of(run.begin);
    result.json.push_back({{"columns", {run.begin, run.end}}, {"kv_heads", {kv.begin, kv.end}}});
    result.text += fmt::format(
        "           columns {}: KV heads {}, {} query heads, {} to {} dimensions a column\n", to_text(run),
        to_text(kv), kv.size() * heads.group(), heads.dims(run.end - 1), heads.dims(run.begin));
  }
  result.json = {{"mesh", to_string(mesh)}, {"head_imbalance", heads.imbalance()}, {"runs", result.json}};
  return result;
}

Result describe(const Checkpoint& checkpoint, const std::string& name, const model::Options& options) {
  const ModelConfig& config = checkpoint.config();
  const model::Cut prefill_cut(config, options.prefill_mesh);
  const model::Cut cut(config, options.decode_mesh);
  const Result prefill = heads_on(prefill_cut.heads, options.prefill_mesh, "prefill");
  const Result decode = heads_on(cut.heads, options.decode_mesh, "decode");
  const Spread weights = weight_bytes(checkpoint, cut, options.decode_mesh);
  const Spread kv = kv_bytes(config, cut, options.decode_mesh);
  Result result{config_json(checkpoint), fmt::format("{}\n{}", name, config_text(checkpoint))};
  result.json["model"] = name;
  result.json["prefill"] = prefill.json;
  result.json["decode"] = decode.json;
  result.json["weight_bytes_per_core"] = to_json(weights);
  result.json["kv_bytes_per_token_and_core"] = to_json(kv);
  if (options.prefill_mesh != options.decode_mesh) result.text += prefill.text;
  result.text += decode.text;
  result.text += fmt::format("weights    {} a core in decode, least / mean / most\n", to_text(weights));
  result.text += fmt::format("KV cache   {} a token and core of its row, least / mean / most\n", to_text(kv));
  return result;
}

// Whether the core with the most weights has room for them on a device.
void add_device(Result& result, const plmr::Device& device, const Spread& stored, Index stored_bytes,
                Index charged_bytes) {
  const Index most = static_cast<Index>(stored.most) / stored_bytes * charged_bytes;
  const bool fits = most <= device.sram_bytes;
  result.json["device"] = {
      {"name", device.name}, {"sram", device.sram_bytes}, {"weights_most", most}, {"fits", fits}};
  result.text += fmt::format("device     {}: {} a core, at most {} of weights at {} bytes an element: {}\n",
                             device.name, format_bytes(device.sram_bytes), format_bytes(most), charged_bytes,
                             fits ? "fits" : "does not fit");
}

}  // namespace

void add_inspect(CLI::App& app, Action& chosen) {
  struct Flags {
    MeshFlags mesh;
    ModelFlags model;
    OutputFlags output;
  };
  CLI::App* command = app.add_subcommand("inspect", "a model's configuration and how it lies on a mesh");
  const auto flags = std::make_shared<Flags>();
  flags->mesh.add_to(*command);
  flags->model.add_to(*command);
  flags->output.add_to(*command);
  command->footer("Example: wafermesh inspect --mesh 8x8");
  command->callback([&chosen, flags] {
    chosen = [flags](const Communicator& world) {
      const auto options = flags->model.options(flags->mesh, world);
      flags->output.check(world);
      const auto checkpoint = open_model(world, flags->model.model);
      std::optional<plmr::Device> device;
      if (flags->model.device.given()) device = flags->model.device.open(world);
      flags->output.deliver(world, [&] {
        Result result = describe(checkpoint, flags->model.model, options);
        if (device) {
          const model::Cut cut(checkpoint.config(), options.decode_mesh);
          add_device(result, *device, weight_bytes(checkpoint, cut, options.decode_mesh),
                     static_cast<Index>(size_of(checkpoint.dtype({checkpoint::Weight::embedding}))),
                     flags->model.device.precision().element_bytes);
        }
        return result;
      });
      return static_cast<int>(ExitCode::good);
    };
  });
}

}  // namespace wafer::app
