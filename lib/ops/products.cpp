#include "ops/products.hpp"

#include <algorithm>
#include <vector>

#include "kernels/gemm.hpp"
#include "ops/small_products.hpp"

namespace wafer::ops {

using fabric::Blocks, fabric::Fabric;
using mesh::Range;

namespace {

// Products of more multiplications than this are worth a BLAS call each.
constexpr Index small_product = 64 * 64 * 64;

void multiply_one_by_one(const Fabric& fabric, const Blocks& A, const Blocks& B, Blocks& C,
                         const ProductSteps& products, Range steps) {
  const Index width = products.columns.size();
  fabric.parallel(products.rows.size() * width, [&](Index core) {
    const Index i = products.rows.begin + core / width, j = products.columns.begin + core % width;
    const Index skew = products.skew_of_row(i) + products.skew_of_column(j);
    for (Index step = steps.begin; step < steps.end; ++step) {
      const Index block = products.first_block + wrap(skew + step, products.blocks);
      kernels::gemm(A(i, block), B.typed(block, j), C(products.first_row + i, j),
                    step == 0 ? kernels::Output::overwrite : kernels::Output::add);
    }
  });
}

}  // namespace

void multiply_steps(const Fabric& fabric, const Blocks& A, const Blocks& B, Blocks& C,
                    const ProductSteps& products, Range steps) {
  if (products.rows.size() <= 0 || products.columns.size() <= 0) return;
  const Index size =
      A.placement().rows().largest() * B.placement().rows().largest() * B.placement().cols().largest();
  if (size > small_product || size == 0)
    multiply_one_by_one(fabric, A, B, C, products, steps);
  else
    multiply_small(fabric, A, B, C, products, steps);
}

}  // namespace wafer::ops
