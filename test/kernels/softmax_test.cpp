#include "kernels/softmax.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/exponential.hpp"
#include "support/catch.hpp"

using namespace wafer;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

std::vector<float> softmax(std::vector<float> row) {
  const float sum = kernels::exponentials(row, kernels::row_max(row));
  kernels::divide(row, sum);
  return row;
}

}  // namespace

TEST_CASE("softmax is exp(x) over its sum, without overflow", "[kernels]") {
  const auto p = softmax({1.0F, 2.0F, 0.5F});
  const double sum = std::exp(1.0) + std::exp(2.0) + std::exp(0.5);
  CHECK(std::abs(p[0] - std::exp(1.0) / sum) <= 1e-7);
  CHECK(std::abs(p[1] - std::exp(2.0) / sum) <= 1e-7);
  CHECK(std::abs(p[2] - std::exp(0.5) / sum) <= 1e-7);
  CHECK(softmax({1e30F, 1e30F}) == std::vector<float>{0.5F, 0.5F});
  CHECK(softmax({-1e30F}) == std::vector<float>{1.0F});
  CHECK(softmax({1e4F, 0.0F, -1e4F}) == std::vector<float>{1.0F, 0.0F, 0.0F});
}

TEST_CASE("the largest of a row is found anywhere; of none it is -infinity", "[kernels]") {
  for (std::size_t n = 1; n <= 17; ++n)
    for (std::size_t best = 0; best < n; ++best) {
      std::vector<float> row(n, -3.0F);
      row[best] = -2.0F;
      CHECK(kernels::row_max(row) == -2.0F);
    }
  CHECK(kernels::row_max({}) == -infinity);
  CHECK(kernels::row_max(std::vector<float>(3, -infinity)) == -infinity);
}

TEST_CASE("what is masked gets nothing, and a row in which nothing is visible becomes zero", "[kernels]") {
  CHECK(softmax({-infinity, 3.0F, -infinity}) == std::vector<float>{0.0F, 1.0F, 0.0F});
  std::vector<float> hidden(5, -infinity);
  CHECK(kernels::exponentials(hidden, -infinity) == 0.0F);
  CHECK(hidden == std::vector<float>(5, 0.0F));
  CHECK(kernels::exponentials({}, -infinity) == 0.0F);
}

TEST_CASE("a row with NaN gives NaN rather than numbers that look right", "[kernels]") {
  for (std::size_t place = 0; place < 3; ++place) {
    std::vector<float> row = {1.0F, 2.0F, 3.0F};
    row[place] = NAN;
    for (const float p : softmax(row)) CHECK(std::isnan(p));
  }
  std::vector<float> only = {NAN};
  CHECK(std::isnan(kernels::exponentials(only, kernels::row_max(only))));
}

TEST_CASE("divide divides every element", "[kernels]") {
  std::vector<float> x = {3.0F, -6.0F, 0.0F};
  kernels::divide(x, 3.0F);
  CHECK(x == std::vector<float>{1.0F, -2.0F, 0.0F});
  kernels::divide({}, 3.0F);
}

TEST_CASE("the exponential is within two units in the last place wherever it neither vanishes nor overflows",
          "[kernels]") {
  double worst = 0.0;
  for (int k = -8700; k <= 8800; ++k) {
    const float x = static_cast<float>(k) / 100.0F;
    const double exact = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(kernels::exponential(x)) - exact) / exact);
  }
  CHECK(worst <= 2.0 * 0x1p-23);
  CHECK(kernels::exponential(0.0F) == 1.0F);
  CHECK(kernels::exponential(-1000.0F) == 0.0F);
  CHECK(kernels::exponential(-infinity) == 0.0F);
  CHECK(kernels::exponential(88.5F) == infinity);
  CHECK(kernels::exponential(infinity) == infinity);
  CHECK(std::isnan(kernels::exponential(NAN)));
}

TEST_CASE("a long row has the bits of the same row in other memory", "[kernels]") {
  for (const std::size_t n : {15U, 16U, 17U, 100U}) {
    std::vector<float> row(n + 1), moved(n + 3);
    for (std::size_t k = 0; k < n; ++k) row[k] = moved[k + 3] = static_cast<float>(k * 37 % 11) - 7.5F;
    const std::span<float> here(row.data(), n), there(moved.data() + 3, n);
    CHECK(kernels::row_max(here) == kernels::row_max(there));
    CHECK(kernels::exponentials(here, 2.5F) == kernels::exponentials(there, 2.5F));
    CHECK(std::equal(here.begin(), here.end(), there.begin()));
  }
}
