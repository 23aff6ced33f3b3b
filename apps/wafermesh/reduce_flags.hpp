#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "fabric/all_reduce.hpp"
#include "io/json.hpp"

namespace wafer::app {

/// The flags that say how lines of cores add up.
struct ReduceFlags {
  std::string algorithm = "ktree";
  std::string groups = "0";
  Index levels = 2;

  /// @param name  of the flag that chooses the algorithm
  void add_to(CLI::App& command, const std::string& name);
  /// For lines of `cores`. Where --groups is auto, the K-tree of those tried that costs least by `cycles_of`,
  /// which the fabric's device counts.
  /// @throws UsageError for auto without a device or without a K-tree, FitError for more groups than cores
  fabric::ReduceShape shape(const fabric::Fabric& fabric, Index cores,
                            const std::function<double(const fabric::ReduceShape&)>& cycles_of) const;
};

/// Numbers of first-level groups that are worth trying on a line: every one on short lines; on longer ones
/// the divisors, and what lies around the root of the line's length.
std::vector<Index> groups_to_try(Index cores);

/// The algorithm by name, for a K-tree with its levels and groups.
std::string to_text(const fabric::ReduceShape& shape, Index cores);
io::Json to_json(const fabric::ReduceShape& shape, Index cores);

}  // namespace wafer::app
