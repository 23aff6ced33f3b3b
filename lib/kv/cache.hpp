#pragma once

#include <vector>

#include "fabric/blocks.hpp"
#include "kv/policy.hpp"
#include "ops/decode_attention.hpp"

namespace wafer::kv {

/// The KV cache of all layers: tokens over the mesh's rows, head dimensions over its columns. A rank keeps,
/// for each of its columns, the tokens of its rows one after the other, so what moves between rows of one
/// rank is a change of two counts.
class Cache {
public:
  /// `fabric` and `heads` must outlive the cache.
  /// @param counted  layers that count in the memory of the wafer's cores; 0: all
  Cache(const fabric::Fabric& fabric, const ops::HeadLayout& heads, Index layers, Policy policy,
        Index counted = 0);

  Index tokens() const { return tokens_; }
  /// Tokens on each row of the mesh.
  const std::vector<Index>& occupancy() const { return counts_; }
  /// Bytes of all entries on this rank.
  std::int64_t bytes() const;

  /// Where a prompt's keys and values of a layer go: (tokens, kv_heads d).
  fabric::Placement placement(Index tokens) const;
  /// Takes over a prompt's keys and values of a layer, placed by placement(tokens), into an empty cache.
  void fill(Index layer, const fabric::Blocks& keys, const fabric::Blocks& values);

  /// Makes room for one more token in every layer; then append() each layer's entry. Every row of a column
  /// has a copy of the new key and value, so a row that is to store them needs no message.
  void begin_token();
  /// @param QKV ([query | key | value])  copied along Y   Collective among the ranks that share columns.
  void append(Index layer, const fabric::Blocks& QKV);

  /// Counts a layer's entries in the memory of the wafer's cores, for a layer whose forward is left out.
  void hold(Index layer);

  /// What attention reads; valid until the next change.
  ops::CacheView view(Index layer) const;

  /// Forgets everything.
  void clear();

private:
  struct Entries {
    std::vector<float> keys;    // (tokens of this rank's rows, KV heads x dims of the column)
    std::vector<float> values;  // likewise
  };
  Index width(Index column) const { return heads_->key().size(column); }
  Index column_number(Index column) const { return column - fabric_->tile().columns.begin; }
  Entries& entries(Index layer, Index column) { return entries_[at(layer)][at(column_number(column))]; }

  void charge();
  /// The token that is entry `n` of a row.
  Index position(Index row, Index n) const;
  /// Counts the new token's entry of a layer on top of what was counted, or all of them anew.
  void hold_token(Index layer);
  /// Stores the new token's entry where it stays.
  void insert(Index layer, const fabric::Blocks& QKV);

  const fabric::Fabric* fabric_;
  const ops::HeadLayout* heads_;
  Policy policy_;
  Index counted_;
  Index tokens_ = 0;
  std::vector<Index> filled_;                  // (rows) tokens of the prompt on each row
  std::vector<Index> filled_offsets_;          // (rows + 1)
  std::vector<Index> counts_;                  // (rows)
  std::vector<Index> offsets_;                 // (rows + 1) first token of each row
  std::vector<Index> before_;                  // offsets before the token that is being added
  std::vector<std::vector<Entries>> entries_;  // (layers, columns of the tile)
  std::vector<fabric::Lease> leases_;          // (layers) what the wafer's cores hold
  std::vector<Index> held_;                    // (layers) tokens of them
  std::vector<Index> growth_;                  // (H, W) bytes of the newest token in one layer
  Index grown_ = 0;                            // tokens with it
};

}  // namespace wafer::kv
