#pragma once

#include <string>
#include <vector>

#include "core/index.hpp"

namespace wafer::kv {

/// Where a new token goes.
enum class Policy {
  shift,        ///< WaferLLM's: rows hand their oldest entries up, so that all rows fill evenly
  concat,       ///< the baseline: the bottom row takes all new tokens
  round_robin,  ///< rows take new tokens in turn and nothing moves: attention does not ask for their order
};

/// @throws UsageError unless "shift", "concat" or "round-robin"
Policy parse_policy(const std::string& name);
std::string to_string(Policy policy);

/// Tokens on each of `rows` rows after a prompt of `tokens`: even, the fuller rows at the top.
std::vector<Index> initial_counts(Index tokens, Index rows);

/// Tokens on each row after one more. With shift and concat, tokens lie in order, the oldest at the top, so
/// the counts say everything: with shift, row r = T mod H gains one; the rows below it each hand their oldest
/// entry up, all at once, and the bottom row stores the new one. Source: WaferLLM (OSDI 2025), section 4.3.
/// With round-robin, row T mod H stores the new one itself.
void add_token(Policy policy, std::vector<Index>& counts);

}  // namespace wafer::kv
