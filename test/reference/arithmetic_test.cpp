#include "reference/arithmetic.hpp"

#include <cmath>

#include "core/error.hpp"
#include "support/catch.hpp"

using Catch::Matchers::WithinRel;
using namespace wafer::reference;

TEST_CASE("a dot product sums every element, whatever the length") {
  const std::size_t length = GENERATE(0U, 1U, 2U, 7U, 8U, 9U, 16U, 23U);
  std::vector<double> a;
  std::vector<double> b;
  double expected = 0;
  for (std::size_t i = 0; i < length; ++i) {
    a.push_back(static_cast<double>(i + 1));
    b.push_back(static_cast<double>(2 * i + 1));
    expected += a.back() * b.back();
  }

  CHECK(dot(a, b) == expected);  // whole numbers: exact in any order
}

TEST_CASE("a dot product of different lengths is refused") {
  CHECK_THROWS_AS(dot(std::vector<double>(2), std::vector<double>(3)), wafer::InternalError);
}

TEST_CASE("RMSNorm scales each row by its own root mean square and by the weight") {
  const std::vector<double> rows = {3, 4, 0.5, -0.5};
  const std::vector<float> weight = {2, 3};

  const std::vector<double> out = rms_norm(rows, weight, 0);

  const double root = std::sqrt(12.5);
  CHECK_THAT(out[0], WithinRel(2 * 3 / root, 1e-15));
  CHECK_THAT(out[1], WithinRel(3 * 4 / root, 1e-15));
  CHECK_THAT(out[2], WithinRel(2.0, 1e-15));
  CHECK_THAT(out[3], WithinRel(-3.0, 1e-15));
}

TEST_CASE("RMSNorm adds eps to the mean square") {
  CHECK(rms_norm(std::vector<double>{0}, std::vector<float>{1}, 1e-6) == std::vector<double>{0});
  CHECK_THAT(rms_norm(std::vector<double>{1}, std::vector<float>{1}, 3)[0], WithinRel(0.5, 1e-15));
  CHECK(rms_norm({}, std::vector<float>{1}, 1e-6).empty());
}

TEST_CASE("softmax keeps the ratios of the exponentials and survives large values") {
  std::vector<double> values = {1000, 1000 + std::log(3)};

  softmax(values);

  CHECK_THAT(values[0], WithinRel(0.25, 1e-12));
  CHECK_THAT(values[1], WithinRel(0.75, 1e-12));
}

TEST_CASE("softmax of one value is one, and of none is refused") {
  std::vector<double> one = {-5e8};
  softmax(one);
  CHECK(one == std::vector<double>{1});

  std::vector<double> none;
  CHECK_THROWS_AS(softmax(none), wafer::InternalError);
}

TEST_CASE("silu is x times the logistic function, and finite at both ends") {
  CHECK(silu(0) == 0);
  CHECK_THAT(silu(1), WithinRel(0.7310585786300049, 1e-15));
  CHECK_THAT(silu(-1), WithinRel(-0.2689414213699951, 1e-15));
  CHECK(silu(1e4) == 1e4);
  CHECK(silu(-1e4) == 0);
}
