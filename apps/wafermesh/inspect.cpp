// wafermesh inspect: a model's configuration and how it lies on a mesh.
#include <algorithm>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "core/units.hpp"
#include "io/json.hpp"
#include "wafermesh/common.hpp"

namespace wafer::app {

using fabric::Communicator;

namespace {

// Bytes of the weights of decode on the fullest core. All cores of a column of the mesh have about the same.
std::int64_t most_bytes_a_core(const checkpoint::ModelConfig& config, const model::Cut& cut,
                               std::int64_t element) {
  const Index rows = cut.hidden_y.largest();
  const Index layer =
      rows * (cut.heads.fused().largest() + cut.heads.query().largest() + 3 * cut.ffn.largest());
  const Index tables = (config.tied_embeddings ? 1 : 2) * rows * cut.vocab.largest();
  return (config.layers * layer + tables) * element;
}

int inspect(const Communicator& world, const MeshFlags& mesh_flags, const ModelFlags& model_flags) {
  const auto checkpoint = open_model(world, model_flags.model);
  const auto& config = checkpoint.config();
  const auto options = model_flags.options(mesh_flags, world);
  const model::Cut cut(config, options.decode_mesh);
  const auto element = static_cast<std::int64_t>(size_of(checkpoint.dtype({checkpoint::Weight::embedding})));
  const auto core = most_bytes_a_core(config, cut, element);
  if (!world.is_root()) return 0;
  const io::Json json = {{"model", model_flags.model},
                         {"model_type", config.model_type},
                         {"layers", config.layers},
                         {"hidden", config.hidden},
                         {"heads", config.heads},
                         {"kv_heads", config.kv_heads},
                         {"head_dim", config.head_dim},
                         {"ffn", config.ffn},
                         {"vocab", config.vocab},
                         {"context", config.context},
                         {"bytes", checkpoint.bytes()},
                         {"mesh", to_string(options.decode_mesh)},
                         {"head_imbalance", cut.heads.imbalance()},
                         {"most_weight_bytes_a_core", core}};
  if (mesh_flags.json) {
    std::printf("%s\n", io::to_text(json).c_str());
    return 0;
  }
  fmt::print(
      "model      {} ({}), {} layers, {} in all\nshape      hidden {}, {} heads, {} KV heads, head_dim {}, "
      "ffn {}, vocabulary {}, context {}\n"
      "mesh       {}: {} runs of columns, query dimensions a column max / mean {:.2f}\nweights    at most {} "
      "a core in decode\n",
      model_flags.model, config.model_type, config.layers, format_bytes(checkpoint.bytes()), config.hidden,
      config.heads, config.kv_heads, config.head_dim, config.ffn, config.vocab, config.context,
      to_string(options.decode_mesh), cut.heads.runs().size(), cut.heads.imbalance(), format_bytes(core));
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("inspect", "a model's configuration and how it lies on a mesh");
  const auto mesh_flags = std::make_shared<MeshFlags>();
  const auto model_flags = std::make_shared<ModelFlags>();
  mesh_flags->add_to(*command);
  model_flags->add_to(*command);
  command->footer("Example: wafermesh inspect --mesh 8x8");
  command->callback([&chosen, mesh_flags, model_flags] {
    chosen = [mesh_flags, model_flags](const Communicator& world) {
      return inspect(world, *mesh_flags, *model_flags);
    };
  });
}

}  // namespace wafer::app
