#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/config.hpp"
#include "core/dtype.hpp"
#include "tensor/view.hpp"

namespace wafer::checkpoint {

/// The tensors of a model. Matrices are stored (out, in), as Hugging Face does: y = x W^T.
enum class Weight {
  embedding,       // (V, E)
  lm_head,         // (V, E); the embedding where the model ties them
  final_norm,      // (E)
  attention_norm,  // (E)            input_layernorm
  ffn_norm,        // (E)            post_attention_layernorm
  q,
  k,
  v,
  o,  // (heads d, E), (kv_heads d, E), (kv_heads d, E), (E, heads d)
  q_bias,
  k_bias,
  v_bias,
  o_bias,
  q_norm,
  k_norm,  // (d)
  gate,
  up,
  down,  // (F, E), (F, E), (E, F)
  gate_bias,
  up_bias,
  down_bias,
};

/// A tensor of the model; `layer` counts for the tensors of a layer only.
struct WeightId {
  Weight weight = Weight::embedding;
  Index layer = 0;
};

/// Every tensor that a model of this configuration has (lm_head only where it is not tied), in file order.
std::vector<WeightId> weights_of(const ModelConfig& config);

/// (out, in) of a matrix, (1, n) of a vector.
Shape shape_of(const ModelConfig& config, WeightId id);

/// Whether it is a matrix; a vector otherwise.
bool is_matrix(Weight weight);

/// "model.layers.3.self_attn.q_proj.weight": Hugging Face's name.
std::string name_of(WeightId id);

/// A model on disk, opened for reading: a Hugging Face directory (safetensors, one file or shards with an
/// index) or one HDF5 file made by `wafermesh convert`. Opening reads headers only and checks that every
/// tensor is there with the right shape and a type we know. One process; ranks open it each for themselves
/// and read only what they need. Move-only.
class Checkpoint {
public:
  /// @throws InputError for whatever is missing, malformed or unsupported, by name.
  explicit Checkpoint(const std::filesystem::path& path);
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;
  ~Checkpoint();

  const std::filesystem::path& path() const;
  const ModelConfig& config() const;
  /// The texts of the files; empty where the model has none.
  const std::string& config_json() const;
  const std::string& generation_json() const;
  const std::string& tokenizer_json() const;

  DType dtype(WeightId id) const;

  /// Reads the elements (rows[i], cols[j]) as stored into `out`, (rows, cols) row-major without gaps. A
  /// vector has one row, 0. Any order; runs of neighbours are read at once and permuted in memory.
  /// @throws InputError if the file ends early or cannot be read.
  void read(WeightId id, std::span<const Index> rows, std::span<const Index> cols,
            std::span<std::byte> out) const;

  /// A whole vector as float32.
  std::vector<float> read_vector(WeightId id) const;

  /// Bytes of all weights as stored.
  std::int64_t bytes() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wafer::checkpoint
