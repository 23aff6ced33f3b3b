#pragma once

#include <functional>
#include <optional>

#include "study/workload.hpp"
#include "wafermesh/device.hpp"
#include "wafermesh/output.hpp"

namespace wafer::app {

/// One timed and checked run.
struct Measured {
  double seconds = 0.0;  // of the slowest rank
  double share = 0.0;    // the error, of what rounding allows
  std::uint64_t hash = 0;
  bool good() const { return share <= 1.0; }
};

/// Runs a workload once, and checks it; nothing on a dry fabric. Collective.
std::optional<Measured> run_once(const fabric::Fabric& fabric, study::Workload& work);

/// What is known of a single run: its time and check, or that it was dry; then, on a device, the cycles that
/// `timed` returns, as they are measured on a wafer, and the ledger.
void add_run(Result& result, const fabric::Fabric& fabric, const study::Workload& work,
             const std::optional<Measured>& measured, const std::function<double()>& timed);

/// The program's exit code after it.
int exit_code(const std::optional<Measured>& measured);

/// @throws UsageError for a dry run without a device
void check_dry(bool dry, const DeviceFlags& device);

}  // namespace wafer::app
