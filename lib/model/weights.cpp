#include "model/weights.hpp"

#include <utility>

#include "fabric/redistribute.hpp"
#include "kernels/rounding.hpp"
#include "model/loader.hpp"

namespace wafer::model {

using checkpoint::Checkpoint, checkpoint::ModelConfig, checkpoint::Weight, checkpoint::WeightId;
using fabric::Blocks, fabric::Fabric, fabric::Placement;

namespace {

// Column x has its part of the gate and, behind it, the same part of up.
Partition fused_gate_up(const Partition& ffn) {
  std::vector<std::vector<Index>> lists;
  for (Index x = 0; x < ffn.parts(); ++x) {
    const auto part = ffn.indices(x);
    lists.emplace_back(part.begin(), part.end());
    for (const Index f : part) lists.back().push_back(ffn.length() + f);
  }
  return Partition::of_lists(lists);
}

std::vector<float> joined(const Checkpoint& checkpoint, bool present, std::initializer_list<Weight> parts,
                          Index layer, DType storage) {
  std::vector<float> all;
  if (!present) return all;
  for (const Weight part : parts) {
    const auto values = load_vector(checkpoint, {part, layer}, storage);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

}  // namespace

Cut::Cut(const ModelConfig& config, mesh::Mesh mesh)
    : heads(mesh.width, config.kv_heads, config.group(), config.head_dim),
      hidden_x(Partition::even(config.hidden, mesh.width)),
      hidden_y(Partition::even(config.hidden, mesh.height)),
      ffn(Partition::even(config.ffn, mesh.width)),
      gate_up(fused_gate_up(ffn)),
      vocab(Partition::even(config.vocab, mesh.width)) {}

LayerPlacements prefill_placements(const ops::Gemm& gemm, const Cut& cut) {
  return {gemm.right(cut.hidden_x, cut.heads.fused()), gemm.right(cut.heads.query(), cut.hidden_x),
          gemm.right(cut.hidden_x, cut.gate_up), gemm.right(cut.ffn, cut.hidden_x)};
}

LayerPlacements decode_placements(const Cut& cut) {
  return {Placement::plain(cut.hidden_y, cut.heads.fused()),
          Placement::turned(cut.heads.query(), cut.hidden_y), Placement::plain(cut.hidden_y, cut.gate_up),
          Placement::turned(cut.ffn, cut.hidden_y)};
}

LayerMatrices load_layer(const Checkpoint& checkpoint, Index layer, const Fabric& fabric,
                         const LayerPlacements& placements, DType storage) {
  const auto load = [&](const std::vector<WeightId>& tensors, const Placement& placement) {
    return load_matrix(checkpoint, tensors, fabric, placement, storage);
  };
  return {load({{Weight::q, layer}, {Weight::k, layer}, {Weight::v, layer}}, placements.qkv),
          load({{Weight::o, layer}}, placements.o),
          load({{Weight::gate, layer}, {Weight::up, layer}}, placements.gate_up),
          load({{Weight::down, layer}}, placements.down)};
}

std::vector<float> load_vector(const Checkpoint& checkpoint, WeightId id, DType storage) {
  auto values = checkpoint.read_vector(id);
  kernels::round_to(storage, values);
  return values;
}

LayerVectors load_vectors(const Checkpoint& checkpoint, Index layer, DType storage) {
  const ModelConfig& config = checkpoint.config();
  const auto join = [&](bool present, std::initializer_list<Weight> parts) {
    return joined(checkpoint, present, parts, layer, storage);
  };
  return {.attention_norm = join(true, {Weight::attention_norm}),
          .ffn_norm = join(true, {Weight::ffn_norm}),
          .qkv_bias = join(config.qkv_bias, {Weight::q_bias, Weight::k_bias, Weight::v_bias}),
          .o_bias = join(config.o_bias, {Weight::o_bias}),
          .gate_up_bias = join(config.mlp_bias, {Weight::gate_bias, Weight::up_bias}),
          .down_bias = join(config.mlp_bias, {Weight::down_bias}),
          .q_norm = join(config.qk_norm, {Weight::q_norm}),
          .k_norm = join(config.qk_norm, {Weight::k_norm})};
}

LayerMatrices moved(LayerMatrices from, const Fabric& from_fabric, const Fabric& to_fabric,
                    const LayerPlacements& placements, std::optional<plmr::Memory> memory) {
  const auto move = [&](Blocks& matrix, const Placement& placement) {
    Blocks there(to_fabric, placement, matrix.type(), memory);
    fabric::redistribute(from_fabric, matrix, to_fabric, there);
    matrix = Blocks();
    return there;
  };
  LayerMatrices layer;
  layer.qkv = move(from.qkv, placements.qkv);
  layer.o = move(from.o, placements.o);
  layer.gate_up = move(from.gate_up, placements.gate_up);
  layer.down = move(from.down, placements.down);
  return layer;
}

LayerMatrices dry_layer(const Fabric& fabric, const LayerPlacements& placements,
                        std::optional<plmr::Memory> memory) {
  const auto make = [&](const Placement& placement) { return Blocks(fabric, placement, DType::f32, memory); };
  return {make(placements.qkv), make(placements.o), make(placements.gate_up), make(placements.down)};
}

LayerVectors dry_vectors(const ModelConfig& config) {
  const auto zeros = [&](bool present, std::initializer_list<Weight> parts) {
    std::size_t length = 0;
    for (const Weight part : parts) length += at(checkpoint::shape_of(config, {part, 0}).size());
    return std::vector<float>(present ? length : 0);
  };
  return {.attention_norm = zeros(true, {Weight::attention_norm}),
          .ffn_norm = zeros(true, {Weight::ffn_norm}),
          .qkv_bias = zeros(config.qkv_bias, {Weight::q_bias, Weight::k_bias, Weight::v_bias}),
          .o_bias = zeros(config.o_bias, {Weight::o_bias}),
          .gate_up_bias = zeros(config.mlp_bias, {Weight::gate_bias, Weight::up_bias}),
          .down_bias = zeros(config.mlp_bias, {Weight::down_bias}),
          .q_norm = zeros(config.qk_norm, {Weight::q_norm}),
          .k_norm = zeros(config.qk_norm, {Weight::k_norm})};
}

std::int64_t bytes_of(const LayerMatrices& layer) {
  return static_cast<std::int64_t>(layer.qkv.bytes() + layer.o.bytes() + layer.gate_up.bytes() +
                                   layer.down.bytes());
}

}  // namespace wafer::model
