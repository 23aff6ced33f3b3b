#include "study/sampling.hpp"

#include <algorithm>
#include <numeric>

#include "core/random.hpp"
#include "support/catch.hpp"

using wafer::study::summarise, wafer::study::Summary;

namespace {

std::vector<double> up_to(std::size_t n) {
  std::vector<double> samples(n);
  std::iota(samples.begin(), samples.end(), 1.0);
  return samples;
}

}  // namespace

TEST_CASE("a summary has the least, the median and an interval") {
  const Summary one = summarise({3.0});
  CHECK((one.min == 3.0 && one.median == 3.0 && one.low == 3.0 && one.high == 3.0));
  CHECK(summarise({4.0, 1.0, 3.0, 2.0}).median == 2.5);
  CHECK(summarise({4.0, 1.0, 3.0, 2.0}).min == 1.0);
}

// Tables of the sign test give the ranks that bound the median with 95%: for 5 there are none, for 6 the
// first and the last, for 10 the second, for 20 the sixth, for 50 the eighteenth.
TEST_CASE("the interval ends at the ranks that tables of the sign test give") {
  for (const auto& [n, rank] : {std::pair(5, 1), {6, 1}, {9, 2}, {10, 2}, {20, 6}, {50, 18}, {100, 40}}) {
    const Summary summary = summarise(up_to(static_cast<std::size_t>(n)));
    CAPTURE(n);
    CHECK(summary.low == rank);
    CHECK(summary.high == n + 1 - rank);
  }
}

TEST_CASE("intervals of many samples go on where those of fewer end") {
  const Summary exact = summarise(up_to(500));
  const Summary normal = summarise(up_to(502));
  CHECK(std::abs((normal.high - normal.low) - (exact.high - exact.low)) <= 2.0);
}

TEST_CASE("the interval holds the true median nineteen times of twenty") {
  const wafer::Random random(7, 1);
  int inside = 0;
  constexpr int trials = 2000;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> samples;
    for (int k = 0; k < 15; ++k) {
      const double u = random.uniform(static_cast<std::uint64_t>(trial * 15 + k));
      samples.push_back(u * u * u);  // skewed; its median is an eighth
    }
    const Summary summary = summarise(samples);
    inside += summary.low <= 0.125 && 0.125 <= summary.high ? 1 : 0;
  }
  CHECK(inside >= trials * 95 / 100);
}
