#include "plmr/compliance.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/units.hpp"

namespace wafer::plmr {

namespace {

double share(Ticks part, Ticks whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

Compliance compliance(const Execution& execution) {
  const Index cores = execution.mesh().cores();
  const Charge all = execution.ledger().total([](const Account&) { return true; });
  const double utilisation = share(execution.computed_all(), 1) /
                             std::max(1.0, static_cast<double>(execution.now()) * static_cast<double>(cores));
  const Index active = execution.active_cores();
  const double waiting = share(all.exposed_all, all.advance_all);
  const auto peak = execution.peak();
  const Index sram = execution.device().sram_bytes;
  Index routes = 0;
  for (const std::string& phase : execution.phases()) routes = std::max(routes, execution.routes_of(phase));

  Compliance report;
  report.parallelism = {
      active == cores,
      fmt::format("{} of {} cores compute, {:.1f}% of all core-cycles", active, cores, 100.0 * utilisation),
      "every core computes"};
  report.latency = {waiting < 0.5,
                    fmt::format("cores wait {:.1f}% of their time, longest path {} hops", 100.0 * waiting,
                                all.longest_path),
                    "waiting below 50%"};
  report.memory = {
      peak.total() <= sram,
      fmt::format("{} at core ({}, {}): weights {}, cache {}, buffers {}", format_bytes(peak.total()),
                  peak.core.y, peak.core.x, format_bytes(peak.bytes[0]), format_bytes(peak.bytes[1]),
                  format_bytes(peak.bytes[2])),
      fmt::format("at most {} a core", format_bytes(sram))};
  report.routing = {routes <= execution.device().routes,
                    fmt::format("{} static paths through a router", routes),
                    fmt::format("at most {}", execution.device().routes)};
  return report;
}

}  // namespace wafer::plmr
