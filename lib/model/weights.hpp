#pragma once

#include <functional>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "fabric/blocks.hpp"
#include "ops/gemm.hpp"
#include "ops/head_layout.hpp"

namespace wafer::model {

/// How the model is cut on one mesh: what mesh-wide partitions its tensors follow.
struct Cut {
  Cut(const checkpoint::ModelConfig& config, mesh::Mesh mesh);
  ops::HeadLayout heads;
  Partition hidden_x;  // E over columns
  Partition hidden_y;  // E over rows
  Partition ffn;       // F over columns
  Partition gate_up;   // [gate | up], 2 F over columns
  Partition vocab;     // V over columns
};

/// The matrices of one layer, where one phase wants them.
struct LayerMatrices {
  fabric::Blocks qkv;      // (E, [q | k | v])
  fabric::Blocks o;        // (heads d, E)
  fabric::Blocks gate_up;  // (E, [gate | up])
  fabric::Blocks down;     // (F, E)
};

/// The vectors of one layer, whole on every rank; empty where the model has none.
struct LayerVectors {
  std::vector<float> attention_norm, ffn_norm;  // (E)
  std::vector<float> qkv_bias, o_bias, gate_up_bias, down_bias;
  std::vector<float> q_norm, k_norm;  // (d)
};

/// A phase's placements of the four matrices of a layer.
struct LayerPlacements {
  fabric::Placement qkv, o, gate_up, down;
};
/// Where `gemm` wants them.
LayerPlacements prefill_placements(const ops::Gemm& gemm, const Cut& cut);
/// E on Y for QKV, gate and up; turned for O and down, so that no activation is ever transposed.
LayerPlacements decode_placements(const Cut& cut);

/// Reads the four matrices of a layer; each rank reads what its cores need. `storage` as in load_matrix().
LayerMatrices load_layer(const checkpoint::Checkpoint& checkpoint, Index layer, const fabric::Fabric& fabric,
                         const LayerPlacements& placements, DType storage);
LayerVectors load_vectors(const checkpoint::Checkpoint& checkpoint, Index layer, DType storage);
/// A whole vector, rounded to what the wafer stores.
std::vector<float> load_vector(const checkpoint::Checkpoint& checkpoint, checkpoint::WeightId id,
                               DType storage);

/// Moves a layer to another phase's placement, one tensor at a time, so that at most one is in memory twice.
/// Collective.
LayerMatrices moved(LayerMatrices from, const fabric::Fabric& from_fabric, const fabric::Fabric& to_fabric,
                    const LayerPlacements& placements,
                    std::optional<plmr::Memory> memory = plmr::Memory::weights);

/// The shapes of a layer, without storage: what a dry run has.
LayerMatrices dry_layer(const fabric::Fabric& fabric, const LayerPlacements& placements,
                        std::optional<plmr::Memory> memory = plmr::Memory::weights);
/// Vectors of the right lengths, all 0.
LayerVectors dry_vectors(const checkpoint::ModelConfig& config);

/// Bytes of a layer's matrices on this rank.
std::int64_t bytes_of(const LayerMatrices& layer);

}  // namespace wafer::model
