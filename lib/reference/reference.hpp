#pragma once

#include <functional>
#include <span>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "reference/rope.hpp"
#include "tensor/view.hpp"

namespace wafer::reference {

/// What a forward of T tokens computed, in double.
struct Trace {
  std::vector<std::vector<double>> hidden;  // (layers + 1) x (T, E): the embedding, then after each layer;
                                            // the last entry is after the final norm
  std::vector<double> logits;               // (T, V)
};

/// The independent forward that the mesh is held against: one process, double precision, plain loops, weights
/// read from the file layer by layer. Shares no arithmetic with the mesh. Keeps its own KV cache, so that a
/// sequence can be fed in pieces; the pieces change nothing but under dynamic RoPE beyond the context, where
/// a key stays rotated for the length at which it was fed. Source: transformers' modeling_llama,
/// modeling_mistral, modeling_qwen2 and modeling_qwen3.
class Reference {
public:
  /// `checkpoint` must outlive the reference.
  explicit Reference(const checkpoint::Checkpoint& checkpoint);

  /// Feeds `ids` after what was fed before. `progress`, where given, is called with the layers done.
  /// @throws FitError if the sequence grows beyond the model's longest sequence, or an id is not in the
  /// vocabulary.
  Trace forward(std::span<const Index> ids, const std::function<void(Index layers_done)>& progress = {});

  /// Forgets the sequence.
  void reset();

private:
  /// RMSNorm with a weight vector of the model over rows as long as that.
  std::vector<double> normed(std::span<const double> x, checkpoint::Weight weight, Index layer = 0) const;
  /// x W^T, plus the bias where there is one.
  std::vector<double> projected(std::span<const double> x, checkpoint::Weight matrix, checkpoint::Weight bias,
                                bool has_bias, Index layer) const;
  /// What attention adds to the residual; x (T, E) is normed. Adds the keys and values to the cache.
  std::vector<double> attention_block(Index layer, std::span<const double> x, const Rotation& rotation);
  /// What the feed-forward network adds to the residual; x (T, E) is normed.
  std::vector<double> ffn_block(Index layer, std::span<const double> x) const;

  const checkpoint::Checkpoint& checkpoint_;
  std::vector<std::vector<double>> keys_;    // (layers) x (T, kv_heads d), rotated
  std::vector<std::vector<double>> values_;  // (layers) x (T, kv_heads d)
  Index length_ = 0;                         // [tokens]
};

}  // namespace wafer::reference
