#pragma once

#include <functional>
#include <span>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "tensor/view.hpp"

namespace wafer::reference {

/// What a forward of T tokens computed, in double.
struct Trace {
  std::vector<std::vector<double>> hidden;  // (layers + 1) x (T, E): the embedding, then after each layer;
                                            // the last entry is after the final norm
  std::vector<double> logits;  // (T, V)
};

/// The independent forward that the mesh is held against: one process, double precision, plain loops, weights
/// read from the file layer by layer. Shares no arithmetic with the mesh. Keeps its own KV cache, so that a
/// sequence can be fed in pieces. Source: transformers' modeling_llama, modeling_mistral, modeling_qwen2 and
/// modeling_qwen3.
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
  const checkpoint::Checkpoint& checkpoint_;
  std::vector<std::vector<double>> keys_;    // (layers) x (T, kv_heads d), rotated
  std::vector<std::vector<double>> values_;  // (layers) x (T, kv_heads d)
  Index length_ = 0;                         // [tokens]
};

}  // namespace wafer::reference
