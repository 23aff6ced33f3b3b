#include "wafermesh/measured.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "kernels/gemm.hpp"
#include "wafermesh/common.hpp"
#include "wafermesh/ledger.hpp"

namespace wafer::app {

std::optional<Measured> run_once(const fabric::Fabric& fabric, study::Workload& work) {
  if (fabric.dry()) {
    work.run();
    return std::nullopt;
  }
  fabric.communicator().barrier();
  const double start = now();
  work.run();
  const double seconds = fabric.communicator().max(now() - start);
  return Measured{seconds, work.error().value_or(0.0), work.hash()};
}

void add_run(Result& result, const fabric::Fabric& fabric, const study::Workload& work,
             const std::optional<Measured>& measured, const std::function<double()>& timed) {
  if (measured) {
    const double gflops = 1e-9 * work.flops() / measured->seconds;
    result.json.update({{"seconds", measured->seconds},
                        {"gflops", gflops},
                        {"error_share_of_bound", measured->share},
                        {"good", measured->good()},
                        {"hash", format_hash(measured->hash)},
                        {"kernels", kernels::use_library()}});
    result.text += fmt::format(
        ": {:.3g} s, {:.2f} GFLOP/s\ncheck {}: error {:.3f} of the rounding bound; result hash: {}\n",
        measured->seconds, gflops, measured->good() ? "ok" : "FAILED", measured->share,
        format_hash(measured->hash));
  } else {
    result.text += ": dry run\n";
  }
  const plmr::Execution* execution = fabric.execution();
  if (execution == nullptr) return;
  const double cycles = timed();
  result.json["cycles"] = cycles;
  result.text += fmt::format("{:.0f} cycles as the paper's benchmark measures, {:.3g} s on {}\n", cycles,
                             cycles / execution->device().clock_hz, execution->device().name);
  add_ledger(result, execution);
}

int exit_code(const std::optional<Measured>& measured) {
  return static_cast<int>(!measured || measured->good() ? ExitCode::good : ExitCode::verification);
}

void check_dry(bool dry, const DeviceFlags& device) {
  if (dry && !device.given())
    throw UsageError({.what = "--dry counts a device's cycles", .remedy = "--device wse2"});
}

}  // namespace wafer::app
