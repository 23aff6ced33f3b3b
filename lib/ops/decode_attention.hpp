#pragma once

#include <functional>

#include "fabric/all_reduce.hpp"
#include "fabric/blocks.hpp"
#include "ops/head_layout.hpp"

namespace wafer::ops {

/// The cache of one layer as attention reads it.
struct CacheView {
  /// Keys and values of a core: (tokens of its row, KV heads of its column x dims).
  std::function<MatrixView<const float>(mesh::CoreCoord)> keys;
  std::function<MatrixView<const float>(mesh::CoreCoord)> values;
  /// Tokens on a row, and the position in the text of one of them.
  std::function<Index(Index row)> count;
  std::function<Index(Index row, Index n)> position;
  /// What scores and their exponentials are rounded to; sums and maxima are float32.
  DType storage = DType::f32;
};

/// Attention of one token over the cache (decode): scores by an all-reduce in the run of columns, softmax and
/// p V by all-reduces along Y.   Source: WaferLLM (OSDI 2025), Fig. 4.
class DecodeAttention {
public:
  /// `fabric` and `heads` must outlive it.
  DecodeAttention(const fabric::Fabric& fabric, const HeadLayout& heads, fabric::ReduceShape tree = {});

  /// @param QKV ([query | key | value])  copied along Y, rotated and scaled, in the cache already
  /// @param position of the token   @param window keys it sees, itself included; 0 = all
  /// @return (heads d)  copied along Y, parts as heads.query()
  /// Collective.
  fabric::Blocks run(const fabric::Blocks& QKV, const CacheView& cache, Index position, Index window) const;

private:
  const fabric::Fabric* fabric_;
  const HeadLayout* heads_;
  // All columns of a run have the same scores, so one column of each run and column of tiles stands for the
  // others.
  std::vector<fabric::Segment> columns_of_runs_;
  fabric::AllReduce in_runs_;        // along X, a segment for every row and run
  fabric::AllReduce across_rows_;    // along Y, over columns_of_runs_
  fabric::AllReduce whole_columns_;  // along Y
};

}  // namespace wafer::ops
