#include "reference/arithmetic.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.hpp"

namespace wafer::reference {

double dot(std::span<const double> a, std::span<const double> b) {
  WAFER_CHECK(a.size() == b.size(), "a dot product of different lengths");
  // Independent partial sums: one running sum would wait for each addition before the next.
  constexpr std::size_t lanes = 8;
  std::array<double, lanes> sums{};
  const double* const x = a.data();
  const double* const y = b.data();
  const std::size_t whole = a.size() - a.size() % lanes;
  for (std::size_t i = 0; i < whole; i += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += x[i + lane] * y[i + lane];

  double total = 0;
  for (const double sum : sums) total += sum;
  for (std::size_t i = whole; i < a.size(); ++i) total += x[i] * y[i];
  return total;
}

std::vector<double> rms_norm(std::span<const double> rows, std::span<const float> weight, double eps) {
  const std::size_t length = weight.size();
  WAFER_CHECK(length > 0 && rows.size() % length == 0, "rows of another length than the norm's weight");
  std::vector<double> out(rows.size());
  for (std::size_t start = 0; start < rows.size(); start += length) {
    const auto x = rows.subspan(start, length);
    const double scale = 1 / std::sqrt(dot(x, x) / static_cast<double>(length) + eps);
    for (std::size_t i = 0; i < length; ++i) out[start + i] = static_cast<double>(weight[i]) * x[i] * scale;
  }
  return out;
}

void softmax(std::span<double> values) {
  WAFER_CHECK(!values.empty(), "the softmax of nothing");
  const double largest = *std::max_element(values.begin(), values.end());  // so that exp never overflows
  double sum = 0;
  for (double& value : values) {
    value = std::exp(value - largest);
    sum += value;
  }
  for (double& value : values) value /= sum;
}

double silu(double x) { return x / (1 + std::exp(-x)); }

}  // namespace wafer::reference
