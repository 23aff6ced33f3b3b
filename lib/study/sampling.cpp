#include "study/sampling.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace wafer::study {

namespace {

// Samples to leave out at either end: the most for which the probability that fewer than this many of n fair
// coins show heads stays within 2.5%.
std::size_t left_out(std::size_t n) {
  double probability = std::pow(0.5, static_cast<double>(n));  // that exactly k of them do
  double fewer = 0.0;
  for (std::size_t k = 0; 2 * k + 1 < n; ++k) {
    fewer += probability;
    if (!(fewer <= 0.025)) return k == 0 ? 0 : k - 1;
    probability *= static_cast<double>(n - k) / static_cast<double>(k + 1);
  }
  return (n - 1) / 2;
}

}  // namespace

Summary summarise(std::vector<double> samples) {
  WAFER_CHECK(!samples.empty(), "nothing was measured");
  std::sort(samples.begin(), samples.end());
  const std::size_t n = samples.size();
  // Beyond some hundred samples the exact sum starts below what a double can hold; the normal law does then.
  const double spread = 0.98 * std::sqrt(static_cast<double>(n));
  const std::size_t out =
      n <= 500 ? left_out(n) : static_cast<std::size_t>(0.5 * static_cast<double>(n) - spread);
  return {samples.front(), 0.5 * (samples[(n - 1) / 2] + samples[n / 2]), samples[out], samples[n - 1 - out]};
}

}  // namespace wafer::study
