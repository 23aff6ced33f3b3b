#pragma once

#include "checkpoint/config.hpp"
#include "ops/rope.hpp"

namespace wafer::model {

/// RoPE's frequencies for a sequence of `length` tokens: default, linear, dynamic (which depends on the
/// length), llama3, yarn. Source: Hugging Face transformers, modeling_rope_utils; YaRN: Peng et al., arXiv
/// 2309.00071.
ops::RopeFrequencies rope_frequencies(const checkpoint::ModelConfig& config, Index length);

}  // namespace wafer::model
