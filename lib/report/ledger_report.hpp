#pragma once

#include <string>

#include "io/json.hpp"
#include "plmr/execution.hpp"

namespace wafer::report {

/// Everything an execution knows: device, total, phases, operators (with `by_layer` each layer's on their
/// own), memory, PLMR report. Cycles are numbers with fractions of 1/1024; *_mean are means over the cores.
io::Json ledger_json(const plmr::Execution& execution, bool by_layer);

/// The same as aligned lines: a table of the operators of every phase, then the PLMR report.
std::string ledger_text(const plmr::Execution& execution);

/// The operators of every layer as CSV, with a line of names.
std::string ledger_csv(const plmr::Execution& execution);

/// The four lines of the PLMR report.
std::string compliance_text(const plmr::Execution& execution);

}  // namespace wafer::report
