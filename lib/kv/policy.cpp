#include "kv/policy.hpp"

#include <numeric>

#include "core/error.hpp"

namespace wafer::kv {

Policy parse_policy(const std::string& name) {
  if (name == "shift") return Policy::shift;
  if (name == "concat") return Policy::concat;
  if (name == "round-robin") return Policy::round_robin;
  throw UsageError({.what = "--kv", .got = "\"" + name + "\"", .expected = "shift, concat or round-robin"});
}

std::string to_string(Policy policy) {
  switch (policy) {
  case Policy::shift:
    return "shift";
  case Policy::concat:
    return "concat";
  case Policy::round_robin:
    return "round-robin";
  }
  return "";
}

std::vector<Index> initial_counts(Index tokens, Index rows) {
  const auto offsets = part_offsets(tokens, rows);
  std::vector<Index> counts;
  for (Index y = 0; y < rows; ++y) counts.push_back(offsets[at(y) + 1] - offsets[at(y)]);
  return counts;
}

void add_token(Policy policy, std::vector<Index>& counts) {
  const auto rows = static_cast<Index>(counts.size());
  const Index tokens = std::accumulate(counts.begin(), counts.end(), Index{0});
  counts[at(policy == Policy::concat ? rows - 1 : tokens % rows)] += 1;
}

}  // namespace wafer::kv
