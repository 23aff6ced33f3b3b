#pragma once

#include <span>
#include <vector>

#include "checkpoint/config.hpp"
#include "tensor/view.hpp"

namespace wafer::reference {

/// softmax(q K^T / sqrt(d)) V, head by head, for the last T tokens of a sequence of L. Query head h uses KV
/// head floor(h / group). Query i sees the keys j <= i, and of these the last `window` where that is not 0.
///
/// @param q            (T, heads d)     rotated
/// @param keys, values (L, kv_heads d)  keys rotated
/// Returns (T, heads d).
std::vector<double> attention(const checkpoint::ModelConfig& config, Index window, std::span<const double> q,
                              std::span<const double> keys, std::span<const double> values);

}  // namespace wafer::reference
