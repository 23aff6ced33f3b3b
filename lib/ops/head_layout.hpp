#pragma once

#include <vector>

#include "mesh/tiling.hpp"
#include "tensor/partition.hpp"

namespace wafer::ops {

/// How attention heads lie over a mesh's columns.
///
/// With at least as many columns as KV heads, every KV head gets a run of columns, widths part(W, kv_heads),
/// and the RoPE pairs (j, j + d/2) of its dimensions are cut over the run; with fewer, every column gets
/// whole KV heads. A core's local order is [KV head][query head of its group][first halves j][second halves j
/// + d/2]. Example, 2 KV heads of 8 dimensions on 3 columns: columns 0 and 1 share head 0 (pairs 0-1 and
/// 2-3), column 2 has head 1.
class HeadLayout {
public:
  HeadLayout(Index columns, Index kv_heads, Index group, Index head_dim);

  Index columns() const { return static_cast<Index>(pairs_.size()); }
  Index kv_heads() const { return kv_heads_; }
  Index group() const { return group_; }
  Index head_dim() const { return head_dim_; }

  /// The runs from left to right, and the run of a column.
  const std::vector<mesh::Range>& runs() const { return runs_; }
  Index run_of(Index column) const { return run_of_[at(column)]; }
  /// The KV heads of a column, the same for all columns of a run.
  mesh::Range kv_heads_of(Index column) const { return heads_[at(column)]; }
  /// The RoPE pairs of a column: indices j in [0, d/2).
  mesh::Range pairs_of(Index column) const { return pairs_[at(column)]; }
  /// Dimensions of one head that a column holds: twice its pairs.
  Index dims(Index column) const { return 2 * pairs_of(column).size(); }

  /// Row numbers of W_Q (heads d) and of W_K and W_V (kv_heads d) over the columns, in local order.
  const Partition& query() const { return query_; }
  const Partition& key() const { return key_; }
  /// [query | key | value] as one: indices of Q, then of K behind them, then of V.
  const Partition& fused() const { return fused_; }

  /// The dimensions of a head that a column holds, in local order: what a norm over head_dim needs.
  std::vector<Index> dimensions(Index column) const;

  /// Most query dimensions of a column over the mean.
  double imbalance() const;

private:
  std::vector<Index> rows_of(Index column, Index heads_per_kv) const;

  Index kv_heads_;
  Index group_;
  Index head_dim_;
  std::vector<mesh::Range> runs_;
  std::vector<Index> run_of_;       // (columns)
  std::vector<mesh::Range> heads_;  // (columns)
  std::vector<mesh::Range> pairs_;  // (columns)
  Partition query_;
  Partition key_;
  Partition fused_;
};

}  // namespace wafer::ops
