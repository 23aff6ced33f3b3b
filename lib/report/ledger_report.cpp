#include "report/ledger_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "plmr/compliance.hpp"

namespace wafer::report {

using plmr::Account, plmr::Charge, plmr::Execution, plmr::Ledger, plmr::Ticks, plmr::to_cycles;

namespace {

double mean(Ticks all, const Execution& execution) {
  return to_cycles(all) / static_cast<double>(execution.mesh().cores());
}

double idle_share(const Charge& charge) {
  return charge.advance_all == 0
             ? 0.0
             : static_cast<double>(charge.exposed_all) / static_cast<double>(charge.advance_all);
}

io::Json charge_json(const Charge& charge, const Execution& execution) {
  return {{"calls", charge.calls},
          {"cycles", to_cycles(charge.cycles)},
          {"cycles_mean", mean(charge.advance_all, execution)},
          {"compute_mean", mean(charge.compute_all, execution)},
          {"compute_max", to_cycles(charge.compute_most)},
          {"software_mean", mean(charge.software_all, execution)},
          {"exposed_mean", mean(charge.exposed_all, execution)},
          {"exposed_max", to_cycles(charge.exposed_most)},
          {"exposed_last", to_cycles(charge.exposed_last)},
          {"idle_share", idle_share(charge)},
          {"messages", charge.messages},
          {"words", charge.words},
          {"word_hops", charge.word_hops},
          {"longest_path", charge.longest_path},
          {"routes", charge.routes}};
}

io::Json verdict_json(const plmr::Verdict& verdict) {
  return {{"met", verdict.met}, {"number", verdict.number}, {"criterion", verdict.criterion}};
}

// The charges of a phase, the layers' operators of one name together.
Ledger without_layers(const Ledger& ledger) {
  Ledger sums;
  for (const auto& entry : ledger.entries())
    sums.add({entry.account.phase, entry.account.layer < 0 ? Index{-1} : Index{0}, entry.account.operation},
             entry.charge);
  return sums;
}

std::vector<std::string> phases_of(const Ledger& ledger) {
  std::vector<std::string> phases;
  for (const auto& entry : ledger.entries())
    if (phases.empty() || std::find(phases.begin(), phases.end(), entry.account.phase) == phases.end())
      phases.push_back(entry.account.phase);
  return phases;
}

Charge total_of(const Ledger& ledger, const std::string& phase) {
  return ledger.total([&](const Account& account) { return phase.empty() || account.phase == phase; });
}

}  // namespace

io::Json ledger_json(const Execution& execution, bool by_layer) {
  const Ledger ledger = by_layer ? execution.ledger() : without_layers(execution.ledger());
  io::Json operators = io::Json::array(), phases = io::Json::object();
  for (const auto& entry : ledger.entries()) {
    io::Json row = charge_json(entry.charge, execution);
    row["phase"] = entry.account.phase;
    row["operator"] = entry.account.operation;
    if (by_layer) row["layer"] = entry.account.layer;
    operators.push_back(std::move(row));
  }
  for (const std::string& phase : phases_of(ledger))
    phases[phase] = charge_json(total_of(ledger, phase), execution);
  const auto peak = execution.peak();
  const auto plmr = plmr::compliance(execution);
  const double cycles = to_cycles(execution.now());
  io::Json json = {{"device", execution.device().name},
                   {"mesh", to_string(execution.mesh())},
                   {"element_bytes", execution.cost().precision().element_bytes},
                   {"cycles", cycles},
                   {"seconds", cycles / execution.device().clock_hz},
                   {"total", charge_json(total_of(ledger, ""), execution)},
                   {"phases", phases},
                   {"operators", operators},
                   {"memory",
                    {{"core", {peak.core.y, peak.core.x}},
                     {"bytes", peak.total()},
                     {"weights", peak.bytes[0]},
                     {"cache", peak.bytes[1]},
                     {"buffers", peak.bytes[2]},
                     {"sram", execution.device().sram_bytes}}},
                   {"plmr",
                    {{"P", verdict_json(plmr.parallelism)},
                     {"L", verdict_json(plmr.latency)},
                     {"M", verdict_json(plmr.memory)},
                     {"R", verdict_json(plmr.routing)}}}};
  if (execution.traced()) {
    const plmr::Trace path = execution.critical_path();
    json["critical_path"] = {{"cycles", to_cycles(path.time)},
                             {"compute", to_cycles(path.compute)},
                             {"hops", path.hops},
                             {"stages", path.stages}};
  }
  return json;
}

std::string compliance_text(const Execution& execution) {
  const auto plmr = plmr::compliance(execution);
  const auto line = [](char letter, const plmr::Verdict& verdict) {
    return fmt::format("{}  {:<8}  {} ({})\n", letter, verdict.met ? "met" : "VIOLATED", verdict.number,
                       verdict.criterion);
  };
  return line('P', plmr.parallelism) + line('L', plmr.latency) + line('M', plmr.memory) +
         line('R', plmr.routing);
}

std::string ledger_text(const Execution& execution) {
  const Ledger ledger = without_layers(execution.ledger());
  std::string text = fmt::format("{}, mesh {}, {} bytes an element\n", execution.device().name,
                                 to_string(execution.mesh()), execution.cost().precision().element_bytes);
  const auto row = [&](const std::string& name, const Charge& charge) {
    text += fmt::format("  {:<12}{:>8}{:>15.0f}{:>14.0f}{:>14.0f}{:>14.0f}{:>7.0f}%{:>15}{:>16}{:>6}\n", name,
                        charge.calls, to_cycles(charge.cycles), mean(charge.compute_all, execution),
                        mean(charge.exposed_all, execution), to_cycles(charge.exposed_most),
                        100.0 * idle_share(charge), charge.words, charge.word_hops, charge.longest_path);
  };
  for (const std::string& phase : phases_of(ledger)) {
    text += fmt::format("{:<14}{:>8}{:>15}{:>14}{:>14}{:>14}{:>8}{:>15}{:>16}{:>6}\n", phase, "calls",
                        "cycles", "compute", "exposed", "exposed max", "idle", "words", "word-hops", "path");
    for (const auto& entry : ledger.entries())
      if (entry.account.phase == phase) row(entry.account.operation, entry.charge);
    row("total", total_of(ledger, phase));
  }
  if (execution.traced()) {
    const plmr::Trace path = execution.critical_path();
    text += fmt::format("critical path {:.0f} cycles: {:.0f} computing, {} hops, {} software stages\n",
                        to_cycles(path.time), to_cycles(path.compute), path.hops, path.stages);
  }
  return text + compliance_text(execution);
}

std::string ledger_csv(const Execution& execution) {
  std::string text =
      "phase,layer,operator,calls,cycles,cycles_mean,compute_mean,compute_max,software_mean,exposed_mean,"
      "exposed_max,exposed_last,idle_share,messages,words,word_hops,longest_path,routes\n";
  for (const auto& [account, c] : execution.ledger().entries())
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", account.phase,
                        account.layer, account.operation, c.calls, to_cycles(c.cycles),
                        mean(c.advance_all, execution), mean(c.compute_all, execution),
                        to_cycles(c.compute_most), mean(c.software_all, execution),
                        mean(c.exposed_all, execution), to_cycles(c.exposed_most), to_cycles(c.exposed_last),
                        idle_share(c), c.messages, c.words, c.word_hops, c.longest_path, c.routes);
  return text;
}

}  // namespace wafer::report
