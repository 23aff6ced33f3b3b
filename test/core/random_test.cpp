#include "core/random.hpp"

#include <cmath>
#include <set>

#include "support/catch.hpp"

using namespace wafer;

using Words = std::array<std::uint32_t, 4>;

TEST_CASE("Philox 4x32-10 gives its authors' known answers", "[core]") {
  CHECK(Random(0, 0).words(0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint64_t ones = ~std::uint64_t{0};
  CHECK(Random(ones, ones).words(ones) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  // counter and key from the digits of pi
  CHECK(Random(0x299f31d0a4093822U, 0x0370734413198a2eU).words(0x85a308d3243f6a88U) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("seed, stream and number each make another draw; the same three make the same", "[core]") {
  std::set<Words> seen;
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    for (std::uint64_t stream = 0; stream < 4; ++stream)
      for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32}) {
        seen.insert(Random(seed, stream).words(n));
        CHECK(Random(seed, stream).words(n) == Random(seed, stream).words(n));
      }
  CHECK(seen.size() == 48);
}

TEST_CASE("uniform numbers lie in [0, 1) with the mean and variance of a uniform distribution", "[core]") {
  constexpr int count = 100000;
  const Random random(5, 7);
  double sum = 0.0;
  double squares = 0.0;
  for (std::uint64_t n = 0; n < count; ++n) {
    const double u = random.uniform(n);
    if (u < 0.0 || u >= 1.0) FAIL("out of [0, 1)");
    sum += u;
    squares += u * u;
  }
  const double mean = sum / count;
  CHECK(std::abs(mean - 0.5) < 0.005);  // five standard deviations
  CHECK(std::abs(squares / count - mean * mean - 1.0 / 12.0) < 0.002);
}

TEST_CASE("normal numbers have mean 0, variance 1, no skew, a kurtosis of 3, and are finite", "[core]") {
  constexpr int count = 100000;
  const Random random(5, 7);
  std::array<double, 5> moments{};
  double product = 0.0;  // of neighbours: uncorrelated
  double previous = 0.0;
  for (std::uint64_t n = 0; n < count; ++n) {
    const double x = random.normal(n);
    if (!std::isfinite(x)) FAIL("not finite");
    double power = 1.0;
    for (double& moment : moments) {
      moment += power / count;
      power *= x;
    }
    product += previous * x / count;
    previous = x;
  }
  CHECK(std::abs(moments[1]) < 0.016);
  CHECK(std::abs(moments[2] - 1.0) < 0.023);
  CHECK(std::abs(moments[3]) < 0.07);
  CHECK(std::abs(moments[4] - 3.0) < 0.16);
  CHECK(std::abs(product) < 0.016);
}
