#pragma once

#include <cstdint>
#include <span>

#include "core/index.hpp"

namespace wafer::model {

/// How the next token is drawn. Temperature 0 takes the likeliest.
struct Sampling {
  double temperature = 0.0;
  Index top_k = 0;     // 0: all
  double top_p = 1.0;  // the smallest set of tokens whose probability reaches it
  std::uint64_t seed = 0;
};

/// Draws from softmax(logits / temperature), cut to top_k, then to top_p. Depends on the seed and the step
/// alone, so any number of ranks draws the same.
Index sample(std::span<const float> logits, const Sampling& sampling, std::uint64_t step);

}  // namespace wafer::model
