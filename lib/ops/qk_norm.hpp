#pragma once

#include <functional>

#include "fabric/all_reduce.hpp"
#include "fabric/blocks.hpp"
#include "ops/head_layout.hpp"

namespace wafer::ops {

/// RMSNorm of every query and key head over head_dim, in place; a head's dimensions are cut over its run of
/// columns.
///
/// @param runs  all-reduce along X over the runs of rows (prefill: every row; decode: one row stands for its
/// copies),
///              segments in the order row after row, run after run
/// @param lines the row of each group of segments
/// @param block_at  (tokens, [query | key | value]) of a core
/// Collective. Cost: one all-reduce in the run of one number per token and head.
void qk_norm(const fabric::Fabric& fabric, const HeadLayout& heads, const fabric::AllReduce& runs,
             const std::vector<Index>& lines, std::span<const float> query_gamma,
             std::span<const float> key_gamma, float eps,
             const std::function<MatrixView<float>(mesh::CoreCoord)>& block_at);

/// The segments that qk_norm and attention reduce over: the runs of the given rows.
std::vector<fabric::Segment> run_segments(const HeadLayout& heads, const std::vector<Index>& rows);

}  // namespace wafer::ops
