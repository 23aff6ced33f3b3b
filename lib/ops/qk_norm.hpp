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

/// RMSNorm of every query and key head over head_dim, in place; a head's dimensions are cut over its run of
/// columns.
///
/// @param rows  whose tokens are normed (prefill: every row; decode: one row stands for its copies)
/// @param runs  all-reduce along X over run_segments(heads, rows)
/// @param block_at  (tokens, [query | key | value]) of a core
/// Collective. Cost: one all-reduce in the run of one number per token and head.
void qk_norm(const fabric::Fabric& fabric, const HeadLayout& heads, const fabric::AllReduce& runs,
             const std::vector<Index>& rows, const QkNormWeights& weights,
             const std::function<MatrixView<float>(mesh::CoreCoord)>& block_at);

/// The segments that qk_norm and attention reduce over: the runs of the given rows.
std::vector<fabric::Segment> run_segments(const HeadLayout& heads, const std::vector<Index>& rows);

}  // namespace wafer::ops
