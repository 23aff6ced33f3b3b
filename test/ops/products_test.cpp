// Groups of cores in one order of the emulator's own: values and bits where a group ends anywhere.
#include "ops/products.hpp"

#include "ops/operands.hpp"

using namespace wafer;
using fabric::Blocks, fabric::Fabric, fabric::Placement;
using mesh::Mesh, mesh::Range;
using ops::ProductSteps;

namespace {

// More rows, columns and steps than one group takes.
constexpr Index height = 150, width = 70, blocks = 61;
constexpr Mesh all{height, width};

Placement here(Index rows, Index row_parts, Index cols, Index col_parts) {
  return {Partition::even(rows, row_parts), Partition::even(cols, col_parts), [](Index, Index) {
            return mesh::CoreCoord{0, 0};
          }};
}

struct Operands {
  Blocks A, B;
};

// 1 or 2 rows, 12 or 13 of the contraction, 0 or 1 more than 11 columns a block.
Operands operands(const Fabric& fabric, DType type) {
  constexpr Index m = 211, k = 13 * blocks - 5, n = 11 * width + 8;
  Operands made{Blocks(fabric, here(m, height, k, blocks)), Blocks(fabric, here(k, blocks, n, width), type)};
  for (Index i = 0; i < height; ++i)
    for (Index l = 0; l < blocks; ++l)
      for (Index r = 0; r < made.A.shape(i, l).size(); ++r)
        made.A(i, l).data()[r] = static_cast<float>((i * 7 + l * 5 + r * 3) % 9 - 4);
  for (Index l = 0; l < blocks; ++l)
    for (Index j = 0; j < width; ++j)
      for (Index r = 0; r < made.B.shape(l, j).size(); ++r) {
        const auto value = static_cast<float>((l * 11 + j * 2 + r * 5) % 7 - 3);
        if (type == DType::f32)
          made.B(l, j).data()[r] = value;
        else
          reinterpret_cast<std::uint16_t*>(made.B.raw(l, j))[r] = bf16_of(value);
      }
  return made;
}

ProductSteps skewed(Range rows, Range columns) {
  return {rows, columns, blocks, [](Index i) { return 3 * i; }, [](Index j) { return (5 * j + 2) % blocks; }};
}

Blocks multiply(const Fabric& fabric, const Operands& of, const std::vector<ProductSteps>& rectangles,
                const std::vector<Range>& stretches) {
  Blocks C(fabric, here(of.A.placement().rows().length(), height, of.B.placement().cols().length(), width));
  for (const Range steps : stretches)
    for (const ProductSteps& products : rectangles)
      ops::multiply_steps(fabric, of.A, of.B, C, products, steps);
  return C;
}

// What core (i, j) has to have after the steps.
std::vector<float> expected(const Operands& of, const ProductSteps& products, Range steps, Index i, Index j) {
  const Shape shape{of.A.placement().rows().size(i), of.B.placement().cols().size(j)};
  std::vector<float> sum(at(shape.size()), 0.0F);
  for (Index step = steps.begin; step < steps.end; ++step) {
    const Index l = wrap(products.skew_of_row(i) + products.skew_of_column(j) + step, blocks);
    const auto A = of.A(i, l);
    const TypedView B = of.B.typed(l, j);
    for (Index r = 0; r < shape.rows; ++r)
      for (Index c = 0; c < shape.cols; ++c)
        for (Index k = 0; k < A.cols(); ++k) sum[at(r * shape.cols + c)] += A(r, k) * B.at(k, c);
  }
  return sum;
}

Index wrong_blocks(const Operands& of, const Blocks& C, const ProductSteps& products, Range steps) {
  Index wrong = 0;
  for (Index i = 0; i < height; ++i)
    for (Index j = 0; j < width; ++j) {
      const auto right = expected(of, products, steps, i, j);
      const auto got = C(i, j);
      wrong += std::equal(right.begin(), right.end(), got.data()) ? 0 : 1;
    }
  return wrong;
}

}  // namespace

TEST_CASE("every core of a large rectangle adds the blocks of its steps, and no others", "[ops]") {
  const Fabric fabric(test::world(), mesh::Tiling({1, 1}, 1));
  const ProductSteps products = skewed({0, height}, {0, width});
  for (const DType type : {DType::f32, DType::bf16}) {
    const Operands of = operands(fabric, type);
    for (const Range steps : {Range{0, blocks}, Range{7, 8}, Range{3, 50}}) {
      CAPTURE(steps.begin, steps.end);
      CHECK(wrong_blocks(of, multiply(fabric, of, {products}, {steps}), products, steps) == 0);
    }
  }
}

TEST_CASE("the bits do not depend on the rectangle or the threads", "[ops]") {
  const Fabric fabric(test::world(), mesh::Tiling({1, 1}, 1));
  const Fabric threaded(test::world(), mesh::Tiling({1, 1}, 1), 3);
  Operands of = operands(fabric, DType::f32);
  for (Index i = 0; i < height; ++i)
    for (Index l = 0; l < blocks; ++l) {
      const auto values = test::normals(of.A.shape(i, l).size(), static_cast<std::uint64_t>(i * blocks + l));
      std::copy(values.begin(), values.end(), of.A(i, l).data());
    }
  const std::vector<Range> chunks = {{0, 16}, {16, 32}, {32, 48}, {48, blocks}};
  const Blocks whole = multiply(fabric, of, {skewed({0, height}, {0, width})}, chunks);
  const Blocks by_threads = multiply(threaded, of, {skewed({0, height}, {0, width})}, chunks);
  const Blocks cut = multiply(fabric, of,
                              {skewed({0, 1}, {0, width}), skewed({1, height}, {0, 37}),
                               skewed({1, 99}, {37, width}), skewed({99, height}, {37, width})},
                              chunks);
  Index differing = 0;
  for (Index i = 0; i < height; ++i)
    for (Index j = 0; j < width; ++j)
      for (Index r = 0; r < whole.shape(i, j).size(); ++r)
        differing += whole(i, j).data()[r] == cut(i, j).data()[r] &&
                             whole(i, j).data()[r] == by_threads(i, j).data()[r]
                         ? 0
                         : 1;
  CHECK(differing == 0);
}

TEST_CASE("every core adds in the order of its steps", "[ops]") {
  // Products of 2^127 with alternating signs: two of one sign, one after the other, would be infinite.
  const Fabric fabric(test::world(), mesh::Tiling({1, 1}, 1));
  constexpr Index even = 60, depth = 8;
  const ProductSteps products{
      {0, height}, {0, width}, even, [](Index i) { return i; }, [](Index j) { return 3 * j; }};
  const auto sign = [](Index k) { return k % 2 == 0 ? 1.0F : -1.0F; };
  Blocks A(fabric, here(height, height, even * depth, even));
  Blocks B(fabric, here(even * depth, even, 5 * width, width));
  Blocks C(fabric, here(height, height, 5 * width, width));
  for (Index l = 0; l < even; ++l) {
    for (Index i = 0; i < height; ++i) A(i, l)(0, 0) = sign(l + i) * 0x1p64F;
    for (Index j = 0; j < width; ++j)
      for (float& b : B(l, j).row(0)) b = sign(3 * j) * 0x1p63F;
  }
  ops::multiply_steps(fabric, A, B, C, products, {0, even - 1});
  Index wrong = 0;
  for (Index i = 0; i < height; ++i)
    for (Index j = 0; j < width; ++j)
      for (const float c : C(i, j).row(0)) wrong += c == 0x1p127F ? 0 : 1;
  CHECK(wrong == 0);
}
