#pragma once

#include "plmr/execution.hpp"
#include "wafermesh/output.hpp"

namespace wafer::app {

/// Adds an execution's ledger to a result under `key`: as JSON, as text, as CSV, and the per-core clocks,
/// busy ticks and peak bytes as HDF5 datasets. Nothing where there is none.
void add_ledger(Result& result, const plmr::Execution* execution, const std::string& key = "ledger");

}  // namespace wafer::app
