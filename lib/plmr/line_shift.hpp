#pragma once

#include <span>
#include <vector>

#include "plmr/execution.hpp"

namespace wafer::plmr {

/// Some rows each send a block to the row above, all at once: `words` of every column. Row 0 never does.
/// Source: the shift of WaferLLM's KV cache (OSDI 2025), section 4.3.
void hand_up(Execution& execution, const std::vector<bool>& rows, std::span<const Index> words);

}  // namespace wafer::plmr
