#pragma once

#include <functional>
#include <vector>

#include "fabric/blocks.hpp"
#include "fabric/fabric.hpp"
#include "ops/head_layout.hpp"

namespace wafer::ops {

/// The rotations of one sequence length: frequency of every pair and the factor on cosine and sine.
struct RopeFrequencies {
  std::vector<double> inverse;  // (d / 2)  [radians a token]
  double scale = 1.0;           // on cosine and sine (YaRN's attention factor)
};

/// Charges a rotation on every core: six vector operations for the pairs of every head, over the tokens of a
/// row, or over the pairs of a single token.
void charge_rope(const fabric::Fabric& fabric, const HeadLayout& heads,
                 const std::function<Index(Index row)>& tokens_of);

/// Rotates queries and keys in place, and multiplies the queries by d^-0.5. Both halves of a pair are in one
/// core, so nothing moves.
///
/// @param block (tokens, [query | key | value]) of one column   @param first_position of the first token
/// Source: WaferLLM (OSDI 2025), Fig. 3; rotate-half form of Hugging Face checkpoints.
void rope(const HeadLayout& heads, Index column, const RopeFrequencies& frequencies, Index first_position,
          MatrixView<float> block);

}  // namespace wafer::ops
