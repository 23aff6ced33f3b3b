#include <cmath>
#include <limits>
#include <vector>

#include "core/random.hpp"
#include "kernels/activation.hpp"
#include "kernels/norm.hpp"
#include "kernels/rope.hpp"
#include "support/catch.hpp"

using namespace wafer;

namespace {

std::vector<float> normals(std::size_t count, std::uint64_t stream) {
  std::vector<float> values(count);
  for (std::size_t k = 0; k < count; ++k) values[k] = Random(3, stream).normal(k);
  return values;
}

}  // namespace

TEST_CASE("silu(gate) up is exact to rounding and calm at both ends", "[kernels]") {
  const auto gate = normals(37, 1);
  const auto up = normals(37, 2);
  std::vector<float> y(37);
  kernels::silu_product(gate, up, y);
  for (std::size_t k = 0; k < y.size(); ++k) {
    const double g = gate[k];
    CHECK(std::abs(y[k] - g / (1.0 + std::exp(-g)) * up[k]) <= 1e-6);
  }
  const std::vector<float> ends = {0.0F, 1000.0F, -1000.0F};
  const std::vector<float> ones = {1.0F, 1.0F, 1.0F};
  std::vector<float> z(3);
  kernels::silu_product(ends, ones, z);
  CHECK(z[0] == 0.0F);
  CHECK(z[1] == 1000.0F);
  CHECK(z[2] == 0.0F);
}

TEST_CASE("silu_product may write over either input", "[kernels]") {
  const auto gate = normals(5, 1);
  const auto up = normals(5, 2);
  std::vector<float> y(5);
  kernels::silu_product(gate, up, y);
  auto over_gate = gate;
  kernels::silu_product(over_gate, up, over_gate);
  auto over_up = up;
  kernels::silu_product(gate, over_up, over_up);
  CHECK(over_gate == y);
  CHECK(over_up == y);
}

TEST_CASE("add and maximum work element by element", "[kernels]") {
  std::vector<float> sum = {1.0F, 2.0F, 3.0F};
  auto most = sum;
  const std::vector<float> other = {0.5F, -2.0F, 7.0F};
  kernels::add(other, sum);
  kernels::maximum(other, most);
  CHECK(sum == std::vector<float>{1.5F, 0.0F, 10.0F});
  CHECK(most == std::vector<float>{1.0F, 2.0F, 7.0F});
  kernels::add({}, {});
  kernels::maximum({}, {});
}

TEST_CASE("the sum of squares counts every element of any length once", "[kernels]") {
  for (std::size_t n = 0; n <= 35; ++n) {
    std::vector<float> x;
    double expected = 0.0;
    for (std::size_t k = 0; k < n; ++k) {
      x.push_back(static_cast<float>(k + 1));
      expected += static_cast<double>((k + 1) * (k + 1));  // whole numbers: exact in float32, too
    }
    CHECK(kernels::sum_of_squares(x) == static_cast<float>(expected));
  }
}

TEST_CASE("a normed row has a mean square of 1 before gamma, also in place", "[kernels]") {
  auto x = normals(67, 1);
  const auto gamma = normals(67, 2);
  const float scale = kernels::rms_scale(kernels::sum_of_squares(x), 67.0F, 0.0F);
  std::vector<float> y(67);
  kernels::normalize(x, scale, gamma, y);
  double mean = 0.0;
  for (std::size_t k = 0; k < 67; ++k) mean += std::pow(static_cast<double>(y[k]) / gamma[k], 2) / 67.0;
  CHECK(std::abs(mean - 1.0) <= 1e-6);
  kernels::normalize(x, scale, gamma, x);
  CHECK(x == y);
  CHECK(kernels::rms_scale(0.0F, 4.0F, 0.25F) == 2.0F);
  CHECK(kernels::rms_scale(16.0F, 4.0F, 0.0F) == 0.5F);
}

TEST_CASE("a rotation by a quarter turn swaps the halves, and any keeps the length", "[kernels]") {
  std::vector<float> first = {1.0F, 2.0F};
  std::vector<float> second = {3.0F, 4.0F};
  const std::vector<float> zeros = {0.0F, 0.0F};
  const std::vector<float> ones = {1.0F, 1.0F};
  kernels::rotate(first, second, zeros, ones, 2.0F);
  CHECK(first == std::vector<float>{-6.0F, -8.0F});
  CHECK(second == std::vector<float>{2.0F, 4.0F});

  std::vector<float> a = {3.0F};
  std::vector<float> b = {4.0F};
  const std::vector<float> cosine = {std::cos(0.7F)};
  const std::vector<float> sine = {std::sin(0.7F)};
  kernels::rotate(a, b, cosine, sine, 1.0F);
  CHECK(std::abs(std::hypot(a[0], b[0]) - 5.0F) <= 1e-6F);
  CHECK(std::abs(a[0] - (3.0 * std::cos(0.7) - 4.0 * std::sin(0.7))) <= 1e-6);
  kernels::rotate({}, {}, {}, {}, 1.0F);
}
