#include "kernels/few_rows.hpp"

#include <vector>

#include "kernels/matrix.hpp"
#include "support/catch.hpp"

using namespace wafer;
using kernels::Output;
using test::Matrix, test::wrong_elements;

namespace {

// Products on both sides of where a library takes over, and without elements.
template <class F>
void for_all_sizes(F f) {
  for (const Index m : {0, 1, 3, 8})
    for (const Index k : {0, 1, 7, 8, 17, 64})
      for (const Index n : {0, 1, 2, 7, 64})
        for (const Output output : {Output::overwrite, Output::add}) {
          CAPTURE(m, k, n, output == Output::add);
          f(m, k, n, output);
        }
}

}  // namespace

TEST_CASE("few_rows_gemm is the sum of products and writes nothing beside it", "[kernels]") {
  for_all_sizes([](Index m, Index k, Index n, Output output) {
    const Matrix A({m, k}, 3, 1);
    const Matrix B({k, n}, 1, 2);
    const Matrix before({m, n}, 2, 3);
    Matrix C = before;
    kernels::few_rows_gemm(A.view(), B.view(), C.view(), output);
    CHECK(wrong_elements(
              A, [&](Index i, Index j) { return B.view()(i, j); }, C, before, output == Output::add) == 0);
  });
}

TEST_CASE("few_rows_gemm_nt takes the second factor's rows for columns", "[kernels]") {
  for_all_sizes([](Index m, Index k, Index n, Output output) {
    const Matrix A({m, k}, 3, 1);
    const Matrix B({n, k}, 1, 2);
    const Matrix before({m, n}, 2, 3);
    Matrix C = before;
    kernels::few_rows_gemm_nt(A.view(), B.view(), C.view(), output);
    CHECK(wrong_elements(
              A, [&](Index i, Index j) { return B.view()(j, i); }, C, before, output == Output::add) == 0);
  });
}
