#pragma once

#include "fabric/all_reduce.hpp"
#include "fabric/blocks.hpp"

namespace wafer::ops {

/// y = x / sqrt(mean(x^2) + eps) gamma, for every row of a plain matrix (prefill: one row a token).
///
/// @param X (T, E)  plain   @param gamma (E)   @param rows all-reduce along X over whole rows
/// @return  (T, E)  plain
/// Collective. Cost: one all-reduce along X of one number per token.   Source: WaferLLM (OSDI 2025), Fig. 3.
fabric::Blocks rms_norm(const fabric::Fabric& fabric, const fabric::Blocks& X, std::span<const float> gamma,
                        float eps, const fabric::AllReduce& rows);

/// The same for a vector that is cut over the rows and copied along them (decode).
///
/// @param x (E)  copied along X   @param columns all-reduce along Y of copies
/// Collective. Cost: one all-reduce along Y of one number.   Source: WaferLLM (OSDI 2025), Fig. 4.
fabric::Blocks rms_norm_vector(const fabric::Fabric& fabric, const fabric::Blocks& x,
                               std::span<const float> gamma, float eps, const fabric::AllReduce& columns);

}  // namespace wafer::ops
