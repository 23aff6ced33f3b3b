#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "fabric/all_reduce.hpp"
#include "fabric/fabric.hpp"
#include "kv/cache.hpp"
#include "model/weights.hpp"
#include "ops/decode_attention.hpp"
#include "ops/gemm.hpp"
#include "ops/rope.hpp"

namespace wafer::model {

/// How a model is put on the wafer.
struct Options {
  mesh::Mesh prefill_mesh;
  mesh::Mesh decode_mesh;
  std::optional<mesh::Mesh> ranks_grid;  // of both meshes
  int threads = 1;
  kv::Policy kv = kv::Policy::shift;
  fabric::ReduceShape tree;
  /// Of prefill's products with weights.
  std::string gemm = "mesh";
  /// Virtual time of the two meshes; null: not kept. One object where they are the same mesh.
  plmr::Execution* prefill_execution = nullptr;
  plmr::Execution* decode_execution = nullptr;
  /// Layers that are alike run twice in a dry run; the second time, from a warm state, counts for the rest.
  bool repeat_alike_layers = false;
  /// Layers that count in the memory of decode's cores, where the others lie on other regions; 0: all.
  Index counted_layers = 0;
  /// Whether the embedding and the head count there, too.
  bool counted_tables = true;
  /// What weights and every block that an operator stores are rounded to; products and sums are float32.
  DType storage = DType::f32;
};

/// Called with what lies on the residual stream: 0 the embedding, l after layer l, the last after the final
/// norm. `hidden` is (tokens, E) at rank 0 and empty on the other ranks.
using HiddenObserver = std::function<void(Index layer, const std::vector<float>& hidden)>;

/// A whole transformer on the emulated mesh: prefill by MeshGEMM, the transition, decode by MeshGEMV with a
/// KV cache that is spread over the rows. Weights are in memory once, where the current phase wants them. All
/// members are collective: every rank calls them with the same arguments. `communicator` and `checkpoint`
/// must outlive it.
class Transformer {
public:
  /// Loads the weights where prefill (or, with `for_prefill` false, decode) wants them.
  /// @param progress called with the layers loaded
  Transformer(const fabric::Communicator& communicator, const checkpoint::Checkpoint& checkpoint,
              const Options& options, bool for_prefill, const std::function<void(Index)>& progress = {});

  /// The same without weights and without storage: every member advances the executions of `options` as a
  /// real model of this configuration would, and computes nothing. @pre both executions   `config` must
  /// outlive it.
  Transformer(const fabric::Communicator& communicator, const checkpoint::ModelConfig& config,
              const Options& options, bool for_prefill = true);

  /// Runs a prompt from an empty cache: tokens over rows, features over columns.
  /// @throws FitError for an empty prompt, one that is longer than the model allows, or an id that is not in
  /// the vocabulary
  void prefill(std::span<const Index> ids, const HiddenObserver& observe = {});
  /// Logits of all the prompt's positions, (T, V) at rank 0; reads the head a second time.
  std::vector<float> all_logits();

  /// Moves cache, weights and the last token's hidden state to where decode wants them. Nothing to do where
  /// they are there.
  void transition();
  /// Moves the weights back and forgets the sequence.
  void back_to_prefill();

  /// Runs one token through decode.
  void decode(Index id, const HiddenObserver& observe = {});

  /// The likeliest next token, found on the mesh.
  Index greedy();
  /// Adds tokens to the cache without a forward, for a dry run at a later position.
  void skip_tokens(Index count);

  /// Logits of the last token, (V) at rank 0.
  std::vector<float> logits();

  /// Forgets the sequence; the weights stay where they are.
  void reset();

  Index tokens() const { return tokens_; }
  const kv::Cache& cache() const { return cache_; }
  const fabric::Fabric& prefill_fabric() const { return prefill_fabric_; }
  const fabric::Fabric& decode_fabric() const { return decode_fabric_; }
  const Cut& prefill_cut() const { return prefill_cut_; }
  const Cut& decode_cut() const { return decode_cut_; }
  /// Bytes of all weights on this rank.
  std::int64_t weight_bytes() const;

private:
  using Blocks = fabric::Blocks;
  Transformer(const fabric::Communicator& communicator, const checkpoint::Checkpoint* checkpoint,
              const checkpoint::ModelConfig& config, const Options& options, bool for_prefill);
  /// Parts of a forward whose cost may be known from the layer or the token before.
  enum class Part { prefill_layer, embedding, qkv, attention, rest_of_layer, final_norm, head, logits };
  plmr::Span known(const fabric::Fabric& fabric, Part part, Index window, Index tokens) const {
    constexpr Index parts = 8;
    return {fabric.execution(), static_cast<Index>(part) + parts * window, tokens};
  }
  /// Calls run(layer) for every layer; where layers that are alike are repeated, for the first two of each
  /// kind, and skip(layer) for the rest.
  template <class Run, class Skip>
  void for_layers(plmr::Execution* execution, Run run, Skip skip) {
    std::map<Index, Index> seen;  // layers so far of each kind: a kind is a window
    for (Index layer = 0; layer < config_->layers; ++layer) {
      const Index kind = config_->window[at(layer)];
      const Index number = seen[kind]++;
      if (options_.repeat_alike_layers && number >= 2) {
        skip(layer);
        continue;
      }
      if (execution != nullptr) execution->layer(layer);
      if (!options_.repeat_alike_layers || number == 0) {
        run(layer);
        continue;
      }
      const auto mark = execution->mark();
      run(layer);
      const auto& windows = config_->window;
      execution->repeat_since(mark, std::count(windows.begin(), windows.end(), kind) - 2);
    }
    if (execution != nullptr) execution->layer(-1);
  }
  bool dry() const { return checkpoint_ == nullptr; }
  /// Whether a dry run may leave out a span's operators: what they cost is known, and nothing is computed.
  /// Their buffers are counted here; what the span leaves behind is still to be made.
  bool leaves_out(const plmr::Span& span) const {
    if (!dry() || !span.known()) return false;
    span.hold_buffers();
    return true;
  }
  /// What a layer's blocks on the decode mesh count as.
  std::optional<plmr::Memory> counted(Index layer, plmr::Memory kind) const {
    if (options_.counted_layers > 0 && layer >= options_.counted_layers) return std::nullopt;
    return kind;
  }
  void check_sequence(std::span<const Index> ids) const;
  void prefill_layer(Index layer, Blocks& X);
  Blocks decode_embedding(Index id);
  Blocks decode_layer(Index layer, Blocks h);
  Blocks decode_qkv(Index layer, const Blocks& h);
  Blocks decode_attention(Index layer, const Blocks& QKV);
  void decode_rest_of_layer(Index layer, const Blocks& A, Blocks& h);
  Blocks decode_final_norm(const Blocks& h);
  /// Multiplies a vector that is copied along the other axis.
  Blocks decode_product(const char* role, mesh::Axis axis, const Blocks& vector, const Blocks& matrix);
  /// Rounds what an operator stores; the second, a result that it hands on.
  void store(const fabric::Fabric& fabric, Blocks& block) const;
  Blocks stored(const fabric::Fabric& fabric, Blocks block) const;
  void keep_keys_and_values(const Blocks& QKV);
  void move_prompt(Index layer, const fabric::Placement& place);
  void start_phase(const char* name);
  Blocks head_logits();

  const fabric::Communicator* communicator_;
  const checkpoint::Checkpoint* checkpoint_;
  const checkpoint::ModelConfig* config_;
  Options options_;
  fabric::Fabric prefill_fabric_;
  fabric::Fabric decode_fabric_;
  Cut prefill_cut_;
  Cut decode_cut_;
  std::unique_ptr<ops::Gemm> gemm_;      // of prefill
  fabric::AllReduce prefill_rows_;       // whole rows
  fabric::AllReduce prefill_runs_;       // the runs of every row
  fabric::AllReduce decode_columns_;     // whole columns
  fabric::AllReduce decode_rows_;        // whole rows
  fabric::AllReduce decode_copies_;      // one column for all
  fabric::AllReduce decode_run_copies_;  // the runs of one row for all
  ops::DecodeAttention decode_attention_;
  bool placed_for_prefill_;
  std::vector<LayerMatrices> layers_;
  std::vector<LayerVectors> vectors_;
  std::vector<float> final_norm_;
  Blocks table_;                // (E, V) embedding, and head where tied: E_y V_x on the decode mesh
  std::optional<Blocks> head_;  // (E, V) where not tied
  kv::Cache cache_;
  Index tokens_ = 0;
  ops::RopeFrequencies frequencies_;               // of so many tokens, in decode
  std::vector<std::pair<Blocks, Blocks>> prompt_;  // (layers) keys and values on the prefill mesh
  Blocks X_;                                       // (T, E) the prompt after the final norm
  std::optional<Blocks> h_;  // (E) the last token after the final norm, on the decode mesh
};

}  // namespace wafer::model
