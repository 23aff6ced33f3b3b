#pragma once

#include <map>
#include <string>
#include <vector>

#include "fabric/communicator.hpp"
#include "study/sampling.hpp"
#include "wafermesh/output.hpp"
#include "wafermesh/scale_case.hpp"

namespace wafer::app {

/// Earlier medians and intervals, by what names a configuration.
using Earlier = std::map<std::string, study::Summary>;

/// An experiment and what it says.
struct ScaleReport {
  std::string op;
  bool weak = false;
  io::Json context;
  int cpus = 1;
  int threads = 1;
  std::vector<ScaleRow> rows;
  Earlier earlier;         // empty: nothing to compare with
  double tolerance = 0.0;  // of medians
  int slower = 0;          // rows that are slower than before
};

/// Where and with what is measured: processor, CPUs that the launch may use, libraries, settings. Collective.
io::Json context_of(const fabric::Communicator& world, const ScaleSettings& settings);

/// The rows of an earlier result; none for an empty path. Collective. @throws InputError
Earlier read_earlier(const fabric::Communicator& world, const std::string& path);

/// Speed-ups against the fewest ranks of the same algorithm, mesh and size, checks, and what became slower: a
/// median that is worse by more than the tolerance, with intervals that do not meet. At rank 0, whose rows
/// are whole.
void complete(ScaleReport& report);

Result to_result(const ScaleReport& report);

}  // namespace wafer::app
