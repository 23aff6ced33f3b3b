#pragma once

#include <functional>

#include "fabric/all_reduce.hpp"
#include "fabric/blocks.hpp"
#include "ops/head_layout.hpp"

namespace wafer::ops {

/// The learned weights of the norms over head_dim.
struct QkNormWeights {
  std::span<const float> query;  // (d)
  std::span<const float> key;    // (d)
  float eps = 0.0F;
};

/// What is normed, in place.
struct QkNormBlocks {
  std::function<Index(Index row)> tokens_of;
  std::function<MatrixView<float>(mesh::CoreCoord)> block_at;  // (tokens, [query | key | value])
};

/// RMSNorm of every query and key head over head_dim, in place; a head's dimensions are cut over its run of
/// columns.
///
/// @param rows  whose tokens are normed (prefill: every row; decode: one row stands for its copies)
/// @param runs  all-reduce along X over run_segments(heads, rows)
/// @param blocks  where a core's tokens are
/// Collective. Cost: one all-reduce in the run of one number per token and head.
void qk_norm(const fabric::Fabric& fabric, const HeadLayout& heads, const fabric::AllReduce& runs,
             const std::vector<Index>& rows, const QkNormWeights& weights, const QkNormBlocks& blocks);

/// The segments that qk_norm and attention reduce over: the runs of the given rows, each of which stands for
/// those up to the next, the last one for those up to `height`.
std::vector<fabric::Segment> run_segments(const HeadLayout& heads, const std::vector<Index>& rows,
                                          Index height);

}  // namespace wafer::ops
