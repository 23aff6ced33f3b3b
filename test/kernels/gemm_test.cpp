#include "kernels/gemm.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/few_rows.hpp"
#include "kernels/matrix.hpp"
#include "kernels/small_gemm.hpp"
#include "support/catch.hpp"

using namespace wafer;
using kernels::Output;
using test::is_product, test::Matrix, test::narrowed, test::wrong_elements;

namespace {

using View = MatrixView<const float>;
const std::vector<Index> sizes = {0, 1, 2, 7, 17, 64};

template <class F>
void for_all_sizes(const std::vector<Index>& rows, const std::vector<Index>& depths,
                   const std::vector<Index>& columns, F f) {
  for (const Index m : rows)
    for (const Index k : depths)
      for (const Index n : columns)
        for (const Output output : {Output::overwrite, Output::add}) {
          CAPTURE(m, k, n, output == Output::add);
          f(m, k, n, output);
        }
}

}  // namespace

TEST_CASE("gemm is the sum of products for odd, single and no rows and columns", "[kernels]") {
  const auto gemm = [](View A, View B, MatrixView<float> C, Output output) {
    kernels::gemm(A, B, C, output);
  };
  for_all_sizes(sizes, sizes, sizes,
                [&](Index m, Index k, Index n, Output output) { CHECK(is_product(gemm, m, k, n, output)); });
}

TEST_CASE("gemm_nt takes B row by row", "[kernels]") {
  for_all_sizes(sizes, sizes, sizes, [](Index m, Index k, Index n, Output output) {
    CHECK(is_product(kernels::gemm_nt, m, k, n, output, true));
  });
}

TEST_CASE("products of few rows are right on both sides of where the library takes over", "[kernels]") {
  for_all_sizes({0, 1, 3, 8}, {0, 1, 7, 8, 17, 64}, {0, 1, 2, 7, 64},
                [](Index m, Index k, Index n, Output output) {
                  CHECK(is_product(kernels::few_rows_gemm, m, k, n, output));
                  CHECK(is_product(kernels::few_rows_gemm_nt, m, k, n, output, true));
                });
}

TEST_CASE("gemm widens weights in 16 bits, element by element", "[kernels]") {
  for (const DType type : {DType::bf16, DType::f16})
    for_all_sizes(sizes, sizes, sizes, [type](Index m, Index k, Index n, Output output) {
      const Matrix A({m, k}, 3, 1);
      const Matrix before({m, n}, 2, 3);
      Matrix C = before;
      const auto bits = narrowed(Matrix({k, n}, 0, 2), type);
      const TypedView B{type, reinterpret_cast<const std::byte*>(bits.data()), {k, n}};
      kernels::gemm(A.view(), B, C.view(), output);
      const auto b = [&](Index i, Index j) { return B.at(i, j); };
      CHECK(wrong_elements(A, b, C, before, output == Output::add) == 0);
    });
}

TEST_CASE("overwriting ignores what was there, even NaN", "[kernels]") {
  for (const Index k : {0, 5}) {
    const Matrix A({3, k}, 0, 1);
    const Matrix B({k, 4}, 0, 2);
    const Matrix transposed({4, k}, 0, 2);
    Matrix C({3, 4}, 0, 3);
    std::fill(C.memory.begin(), C.memory.end(), NAN);
    Matrix D = C;
    kernels::gemm(A.view(), B.view(), C.view(), Output::overwrite);
    kernels::gemm_nt(A.view(), transposed.view(), D.view(), Output::overwrite);
    for (Index i = 0; i < 3; ++i)
      for (Index j = 0; j < 4; ++j) {
        CHECK(std::isfinite(C.view()(i, j)));
        CHECK(std::isfinite(D.view()(i, j)));
      }
  }
}

TEST_CASE("equal products have equal bits, whatever the strides", "[kernels]") {
  const std::string library = kernels::use_library();
  for (const Shape shape : {Shape{1, 33}, Shape{11, 11}, Shape{17, 64}}) {
    std::vector<std::vector<float>> results;
    for (const Index gap : {0, 1, 5}) {
      Matrix A(shape, gap, 1);
      Matrix B({shape.cols, 13}, gap, 2);
      for (Index i = 0; i < shape.rows; ++i)
        for (Index k = 0; k < shape.cols; ++k)
          A.view()(i, k) = Random(1, 1).normal(static_cast<std::uint64_t>(i * 100 + k));
      for (Index k = 0; k < shape.cols; ++k)
        for (Index j = 0; j < 13; ++j)
          B.view()(k, j) = Random(1, 2).normal(static_cast<std::uint64_t>(k * 100 + j));
      Matrix C({shape.rows, 13}, gap, 3);
      kernels::gemm(std::as_const(A).view(), std::as_const(B).view(), C.view(), Output::overwrite);
      results.emplace_back();
      for (Index i = 0; i < shape.rows; ++i)
        for (const float value : C.view().row(i)) results.back().push_back(value);
    }
    CHECK(results[1] == results[0]);
    CHECK(results[2] == results[0]);
  }
  CHECK_THAT(library, Catch::Matchers::StartsWith("OpenBLAS "));
}

TEST_CASE("widen gives every element of every type", "[kernels]") {
  const Matrix wide({1, 9}, 0, 1);
  for (const DType type : {DType::bf16, DType::f16}) {
    const auto bits = narrowed(wide, type);
    std::vector<float> back(9, 0.0F);
    kernels::widen(type, reinterpret_cast<const std::byte*>(bits.data()), back);
    for (std::size_t k = 0; k < 9; ++k)
      CHECK(back[k] == (type == DType::bf16 ? float_of_bf16(bits[k]) : float_of_f16(bits[k])));
  }
  std::vector<float> same(9, 0.0F);
  kernels::widen(DType::f32, reinterpret_cast<const std::byte*>(wide.memory.data()), same);
  CHECK(std::equal(same.begin(), same.end(), wide.memory.begin()));
  kernels::widen(DType::bf16, nullptr, {});
}

TEST_CASE("small_gemm adds the product of padded operands, one of many or few rows and steps", "[kernels]") {
  const auto gemm = [](View A, View B, MatrixView<float> C, Output) { kernels::small_gemm(A, B, C); };
  for (Index m = 0; m <= 23; ++m)
    for (const Index n : {0, 8, 16, 24, 40, 96})
      for (const Index k : {0, 1, 2, 11, 67}) {
        CAPTURE(m, n, k);
        REQUIRE(is_product(gemm, m, k, n, Output::add));
      }
}
