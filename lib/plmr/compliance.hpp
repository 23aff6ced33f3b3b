#pragma once

#include <string>

#include "plmr/execution.hpp"

namespace wafer::plmr {

/// One of the four properties, and whether the execution lives with it.
struct Verdict {
  bool met = false;
  std::string number;     // what was counted
  std::string criterion;  // what it is held against
};

/// The PLMR report of an execution. Source of the properties: WaferLLM (OSDI 2025), section 3; the criteria
/// are ours.
struct Compliance {
  Verdict parallelism;  ///< P: every core computes
  Verdict latency;      ///< L: cores wait for messages less than half of their time
  Verdict memory;       ///< M: the core that needs most has it
  Verdict routing;      ///< R: no router needs more static paths than it has
};
Compliance compliance(const Execution& execution);

}  // namespace wafer::plmr
