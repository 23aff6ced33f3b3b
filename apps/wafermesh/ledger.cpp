#include "wafermesh/ledger.hpp"

#include <utility>

#include <fmt/format.h>

#include "report/ledger_report.hpp"

namespace wafer::app {

namespace {

using Values = std::pair<std::string, std::vector<Index>>;

// What every core has, as it is now.
std::vector<Values> of_cores(const plmr::Execution& execution) {
  const auto values = [](const auto& ticks) { return std::vector<Index>(ticks.begin(), ticks.end()); };
  return {{"clock_ticks", values(execution.clocks())},
          {"compute_ticks", values(execution.computed_so_far())},
          {"peak_bytes", values(execution.peak_bytes())}};
}

}  // namespace

void add_ledger(Result& result, const plmr::Execution* execution, const std::string& key) {
  if (execution == nullptr) return;
  result.json[key] = report::ledger_json(*execution, true);
  result.text += report::ledger_text(*execution);
  const std::string table = report::ledger_csv(*execution);
  result.csv += table;
  const std::vector<Index> shape = {execution->mesh().height, execution->mesh().width};
  result.datasets = [before = result.datasets, key, table, shape,
                     all = of_cores(*execution)](io::Hdf5Writer& file) {
    if (before) before(file);
    for (const auto& [name, values] : all)
      file.write(fmt::format("{}/{}", key, name), shape, std::span<const Index>(values));
    file.write_text(key + "/operators_csv", table);
  };
}

}  // namespace wafer::app
