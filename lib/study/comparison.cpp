#include "study/comparison.hpp"

#include <algorithm>
#include <cmath>

namespace wafer::study {

Errors errors_of(const Table& table, const std::string& group, bool fitted) {
  Errors errors;
  for (const Comparison& row : table.rows) {
    if (row.group != group || row.fitted != fitted) continue;
    const double error = std::abs(row.error());
    errors.mean += error;
    if (!(error <= errors.most) && !std::isnan(errors.most)) errors.most = error;  // NaN counts, and stays
    ++errors.rows;
  }
  if (errors.rows > 0) errors.mean /= static_cast<double>(errors.rows);
  return errors;
}

bool holds(const Table& table) {
  const bool bounds = std::all_of(table.bounds.begin(), table.bounds.end(), [&](const Bound& bound) {
    const Errors errors = errors_of(table, bound.group, bound.of_fitted);
    return errors.rows > 0 && errors.mean <= bound.mean && errors.most <= bound.most;
  });
  return bounds && std::all_of(table.claims.begin(), table.claims.end(),
                               [&](const Claim& claim) { return !claim.must || claim.holds(table.rows); });
}

}  // namespace wafer::study
