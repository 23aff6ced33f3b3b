#include "kernels/gemv.hpp"

#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/matrix.hpp"
#include "support/catch.hpp"

using namespace wafer;
using test::Matrix, test::narrowed;

namespace {

const std::vector<Index> sizes = {0, 1, 2, 3, 4, 5, 7, 17, 64, 67};

// c += a B, one number at a time; of a large B row i of each quarter, i = 0, 1, …, then what is left.
std::vector<float> in_order(const Matrix& a, const TypedView& B, std::vector<float> c) {
  std::vector<Index> rows(at(B.rows()));
  std::iota(rows.begin(), rows.end(), Index{0});
  const Index quarter = B.rows() / 4;
  if (B.rows() * B.cols() / 4 * static_cast<Index>(size_of(B.type)) >= 4096)
    for (Index i = 0; i < 4 * quarter; ++i) rows[at(i)] = i % 4 * quarter + i / 4;
  for (const Index k : rows)
    for (Index j = 0; j < B.cols(); ++j) c[at(j)] += a.view()(0, k) * B.at(k, j);
  return c;
}

void check(Index k, Index n, const TypedView& B) {
  const Matrix a({1, k}, 0, 1);
  const std::vector<float> before = Matrix({1, n + 3}, 0, 3).memory;
  auto c = before;
  kernels::gemv_add(a.view().row(0), B, std::span(c).first(at(n)));
  CAPTURE(k, n, name_of(B.type));
  CHECK(c == in_order(a, B, before));  // nor is anything changed behind the end
}

}  // namespace

TEST_CASE("gemv_add adds a B in its order, bit for bit, for odd, single and no elements", "[kernels]") {
  for (const Index k : sizes)
    for (const Index n : sizes) {
      const Matrix B({k, n}, 0, 2);
      check(k, n, typed(B.view()));
    }
}

TEST_CASE("gemv_add widens weights in 16 bits, element by element", "[kernels]") {
  for (const DType type : {DType::bf16, DType::f16})
    for (const Index k : sizes)
      for (const Index n : sizes) {
        const auto bits = narrowed(Matrix({k, n}, 0, 2), type);
        check(k, n, {type, reinterpret_cast<const std::byte*>(bits.data()), {k, n}});
      }
}

TEST_CASE("gemv_add takes rows of any width, in the same order", "[kernels]") {
  for (const DType type : {DType::bf16, DType::f16})
    for (const Index n : {Index{2047}, Index{4100}, Index{16383}, Index{16384}, Index{16385}, Index{18437}}) {
      const auto bits = narrowed(Matrix({9, n}, 0, 2), type);
      check(9, n, {type, reinterpret_cast<const std::byte*>(bits.data()), {9, n}});
    }
}

TEST_CASE("gemv_add passes NaN and infinity on", "[kernels]") {
  std::vector<float> a = {1.0F, 1.0F, 1.0F, 1.0F, 1.0F};
  std::vector<float> B(5, 1.0F);
  for (std::size_t k = 0; k < 5; ++k) {
    auto with_nan = B;
    with_nan[k] = NAN;
    std::vector<float> c = {0.0F};
    kernels::gemv_add(a, typed(MatrixView<const float>(with_nan.data(), {5, 1})), c);
    CHECK(std::isnan(c[0]));
    with_nan[k] = INFINITY;
    c[0] = 0.0F;
    kernels::gemv_add(a, typed(MatrixView<const float>(with_nan.data(), {5, 1})), c);
    CHECK(c[0] == INFINITY);
  }
}
