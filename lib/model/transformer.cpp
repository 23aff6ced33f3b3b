#include "model/transformer.hpp"

#include <utility>

#include "core/error.hpp"
#include "fabric/agree.hpp"
#include "fabric/redistribute.hpp"
#include "model/loader.hpp"
#include "ops/argmax.hpp"
#include "ops/gemv.hpp"
#include "ops/qk_norm.hpp"
#include "ops/storage.hpp"

namespace wafer::model {

using checkpoint::Checkpoint, checkpoint::Weight;
using fabric::AllReduce, fabric::Communicator, fabric::Fabric, fabric::Placement;
using mesh::Axis;

namespace {

std::vector<Index> all_rows(const Fabric& fabric) {
  std::vector<Index> rows;
  for (Index y = 0; y < fabric.mesh().height; ++y) rows.push_back(y);
  return rows;
}

Fabric make_fabric(const Communicator& communicator, mesh::Mesh mesh, const Options& options,
                   plmr::Execution* execution, bool dry) {
  return {communicator, mesh::Tiling(mesh, communicator.size(), options.ranks_grid), options.threads,
          execution, dry};
}

void set_phase(plmr::Execution* execution, const char* phase) {
  if (execution != nullptr) execution->phase(phase);
}

}  // namespace

Transformer::Transformer(const Communicator& communicator, const Checkpoint* checkpoint,
                         const checkpoint::ModelConfig& config, const Options& options, bool for_prefill)
    : communicator_(&communicator),
      checkpoint_(checkpoint),
      config_(&config),
      options_(options),
      prefill_fabric_(
          make_fabric(communicator, options.prefill_mesh, options, options.prefill_execution, dry())),
      decode_fabric_(
          make_fabric(communicator, options.decode_mesh, options, options.decode_execution, dry())),
      prefill_cut_(*config_, options.prefill_mesh),
      decode_cut_(*config_, options.decode_mesh),
      gemm_(ops::gemm_algorithm(options.gemm).make(prefill_fabric_)),
      prefill_rows_(AllReduce::of_lines(prefill_fabric_, Axis::x, options.tree)),
      prefill_runs_(
          prefill_fabric_, Axis::x,
          ops::run_segments(prefill_cut_.heads, all_rows(prefill_fabric_), options.prefill_mesh.height),
          options.tree),
      decode_columns_(AllReduce::of_lines(decode_fabric_, Axis::y, options.tree)),
      decode_rows_(AllReduce::of_lines(decode_fabric_, Axis::x, options.tree)),
      decode_copies_(AllReduce::of_copies(decode_fabric_, Axis::y, options.tree)),
      decode_run_copies_(decode_fabric_, Axis::x,
                         ops::run_segments(decode_cut_.heads, fabric::first_lines(decode_fabric_, Axis::x),
                                           options.decode_mesh.height),
                         options.tree),
      decode_attention_(decode_fabric_, decode_cut_.heads, options.tree),
      placed_for_prefill_(for_prefill),
      cache_(decode_fabric_, decode_cut_.heads, config_->layers, options.kv, options.counted_layers) {}

Transformer::Transformer(const Communicator& communicator, const checkpoint::ModelConfig& config,
                         const Options& options, bool for_prefill)
    : Transformer(communicator, nullptr, config, options, for_prefill) {
  const Fabric& fabric = for_prefill ? prefill_fabric_ : decode_fabric_;
  const auto placements =
      for_prefill ? prefill_placements(*gemm_, prefill_cut_) : decode_placements(decode_cut_);
  const Placement table = Placement::plain(decode_cut_.hidden_y, decode_cut_.vocab);
  const auto memory = options.counted_tables ? std::optional(plmr::Memory::weights) : std::nullopt;
  table_ = Blocks(decode_fabric_, table, DType::f32, memory);
  if (!config.tied_embeddings) head_ = Blocks(decode_fabric_, table, DType::f32, memory);
  final_norm_.resize(at(config.hidden));
  for (Index layer = 0; layer < config.layers; ++layer) {
    layers_.push_back(dry_layer(fabric, placements,
                                for_prefill ? plmr::Memory::weights : counted(layer, plmr::Memory::weights)));
    vectors_.push_back(dry_vectors(config));
  }
}

Transformer::Transformer(const Communicator& communicator, const Checkpoint& checkpoint,
                         const Options& options, bool for_prefill, const std::function<void(Index)>& progress)
    : Transformer(communicator, &checkpoint, checkpoint.config(), options, for_prefill) {
  fabric::agree(communicator, [&] {
    const Fabric& fabric = for_prefill ? prefill_fabric_ : decode_fabric_;
    const auto placements =
        for_prefill ? prefill_placements(*gemm_, prefill_cut_) : decode_placements(decode_cut_);
    const Placement table = Placement::plain(decode_cut_.hidden_y, decode_cut_.vocab);
    table_ = load_matrix(checkpoint, {{Weight::embedding}}, decode_fabric_, table, options_.storage);
    if (!config_->tied_embeddings)
      head_ = load_matrix(checkpoint, {{Weight::lm_head}}, decode_fabric_, table, options_.storage);
    final_norm_ = load_vector(checkpoint, {Weight::final_norm}, options_.storage);
    for (Index layer = 0; layer < config_->layers; ++layer) {
      layers_.push_back(load_layer(checkpoint, layer, fabric, placements, options_.storage));
      vectors_.push_back(load_vectors(checkpoint, layer, options_.storage));
      if (progress) progress(layer + 1);
    }
  });
}

void Transformer::check_sequence(std::span<const Index> ids) const {
  const Index most = config_->longest_sequence();
  const Index length = tokens_ + static_cast<Index>(ids.size());
  if (length > most && !dry())  // a dry run may ask for what the model was not trained for
    throw FitError({.what = "the sequence does not fit the model's context",
                    .got = std::to_string(length) + " tokens",
                    .expected = "at most " + std::to_string(most)});
  for (const Index id : ids)
    if (id < 0 || id >= config_->vocab)
      throw FitError({.what = "token id " + std::to_string(id) + " is not in the vocabulary",
                      .expected = "0 to " + std::to_string(config_->vocab - 1)});
}

std::vector<float> Transformer::all_logits() {
  const auto placement = gemm_->right(prefill_cut_.hidden_x, prefill_cut_.vocab);
  Blocks head;
  fabric::agree(*communicator_, [&] {
    head = load_matrix(*checkpoint_, {{Weight::lm_head}}, prefill_fabric_, placement, options_.storage);
  });
  return fabric::gather(prefill_fabric_, gemm_->multiply(X_, head, prefill_cut_.vocab));
}

void Transformer::transition() {
  plmr::Execution* execution = decode_fabric_.execution();
  if (execution != nullptr) {
    execution->phase("transition");
    if (const auto* before = prefill_fabric_.execution(); before != execution)
      execution->wait_until(before->now());
  }
  const bool move_weights = placed_for_prefill_;
  const bool move_cache = !prompt_.empty();
  const auto placements = decode_placements(decode_cut_);
  const Placement place = cache_.placement(tokens_);
  for_layers(
      execution,
      [&](Index layer) {
        if (move_weights) {
          const plmr::Operator op(execution, "weights");
          layers_[at(layer)] = moved(std::move(layers_[at(layer)]), prefill_fabric_, decode_fabric_,
                                     placements, counted(layer, plmr::Memory::weights));
        }
        if (move_cache) move_prompt(layer, place);
      },
      [&](Index layer) {
        if (move_weights)
          layers_[at(layer)] = dry_layer(decode_fabric_, placements, counted(layer, plmr::Memory::weights));
        if (!move_cache) return;
        prompt_[at(layer)] = {};
        cache_.fill(layer, Blocks(decode_fabric_, place, DType::f32, std::nullopt), {});
      });
  placed_for_prefill_ = false;
  prompt_.clear();
}

void Transformer::move_prompt(Index layer, const Placement& place) {
  const plmr::Operator op(decode_fabric_.execution(), "cache");
  auto& [prompt_keys, prompt_values] = prompt_[at(layer)];
  Blocks keys(decode_fabric_, place, DType::f32, std::nullopt);  // the cache counts them
  Blocks values(decode_fabric_, place, DType::f32, std::nullopt);
  fabric::redistribute(prefill_fabric_, prompt_keys, decode_fabric_, keys);
  fabric::redistribute(prefill_fabric_, prompt_values, decode_fabric_, values);
  prompt_keys = Blocks();
  prompt_values = Blocks();
  cache_.fill(layer, keys, values);
}

void Transformer::back_to_prefill() {
  reset();
  if (placed_for_prefill_) return;
  const auto placements = prefill_placements(*gemm_, prefill_cut_);
  for (LayerMatrices& layer : layers_)
    layer = moved(std::move(layer), decode_fabric_, prefill_fabric_, placements);
  placed_for_prefill_ = true;
}

void Transformer::skip_tokens(Index count) {
  WAFER_CHECK(dry(), "only a dry run may skip a forward");
  for (Index token = 0; token < count; ++token) cache_.begin_token();
  tokens_ += count;
}

void Transformer::reset() {
  cache_.clear();
  prompt_.clear();
  X_ = Blocks();
  h_.reset();
  tokens_ = 0;
}

// The last token's logits, part x at the root of column x.
fabric::Blocks Transformer::head_logits() {
  WAFER_CHECK(h_.has_value(), "logits follow a forward");
  const plmr::Operator charged(decode_fabric_.execution(), "lm_head");
  return ops::mesh_gemv_to_root(decode_fabric_, Axis::y, decode_columns_, *h_, head_ ? *head_ : table_);
}

void Transformer::store(const Fabric& fabric, Blocks& block) const {
  ops::store_as(fabric, options_.storage, block);
}

fabric::Blocks Transformer::stored(const Fabric& fabric, Blocks block) const {
  store(fabric, block);
  return block;
}

void Transformer::start_phase(const char* name) {
  for (plmr::Execution* execution : {prefill_fabric_.execution(), decode_fabric_.execution()})
    set_phase(execution, name);
}

Index Transformer::greedy() {
  const auto span = known(decode_fabric_, Part::head, 0, 1);
  if (leaves_out(span)) return 0;
  return ops::argmax(decode_fabric_, head_logits(), decode_columns_.root(0));
}

std::vector<float> Transformer::logits() {
  const auto span = known(decode_fabric_, Part::logits, 0, 1);
  if (leaves_out(span)) return {};
  return fabric::gather(decode_fabric_, head_logits());
}

std::int64_t Transformer::weight_bytes() const {
  auto bytes = static_cast<std::int64_t>(table_.bytes() + (head_ ? head_->bytes() : 0));
  for (const LayerMatrices& layer : layers_) bytes += bytes_of(layer);
  return bytes;
}

}  // namespace wafer::model
