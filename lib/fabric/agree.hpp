#pragma once

#include <functional>

#include "fabric/communicator.hpp"

namespace wafer::fabric {

/// Collective. Runs a stage that may fail on some ranks only (loading, writing), then lets all ranks agree:
/// if any failed, every rank throws the error of the lowest failing rank, which is named where not all
/// failed. Memory that runs out counts as a FitError.
void agree(const Communicator& communicator, const std::function<void()>& stage);

}  // namespace wafer::fabric
