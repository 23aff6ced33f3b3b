#pragma once

#include "fabric/blocks.hpp"
#include "ops/head_layout.hpp"

namespace wafer::ops {

/// Causal attention of a whole prompt (prefill), every run of columns on its own: S = Q K^T by MeshGEMM-T,
/// softmax with two all-reduces in the run, S V with S multicast in the run and V going round. K and V rotate
/// unskewed; blocks in which no query sees a key are skipped. The output, not S, is divided by the sum.
///
/// @param QKV (T, [query | key | value])  plain, rotated and scaled   @param window keys a query sees, itself
/// included; 0 = all   @param storage what S is rounded to, as scores and as their exponentials; the maxima
/// and the sums of unrounded exponentials are float32
/// @return (T, heads d)  plain, columns as heads.query()
/// Collective. Cost: K and V once round every column; S once in each direction along the runs.
/// Source: WaferLLM (OSDI 2025), section 5.4.
fabric::Blocks attention(const fabric::Fabric& fabric, const HeadLayout& heads, const fabric::Blocks& QKV,
                         Index window, DType storage = DType::f32);

}  // namespace wafer::ops
