#include "fabric/redistribute.hpp"

#include <cstring>

#include "core/error.hpp"
#include "fabric/tilings.hpp"

using namespace wafer;
using fabric::Blocks, fabric::Fabric, fabric::Placement;
using mesh::Axis, mesh::Mesh;
using test::world;

namespace {

std::vector<Placement> matrix_placements(const Fabric& fabric, Shape shape) {
  const Index height = fabric.mesh().height;
  const Index width = fabric.mesh().width;
  const auto& queues = fabric.queues();
  const Partition dealt_cols = test::dealt(shape.cols, width);
  return {Placement::plain(Partition::even(shape.rows, height), Partition::even(shape.cols, width)),
          Placement::plain(test::dealt(shape.rows, height), dealt_cols),
          Placement::turned(test::dealt(shape.rows, width), Partition::even(shape.cols, height)),
          Placement::queued_right(
              queues, fabric::contraction_blocks(queues.x, test::dealt(shape.rows, width)), dealt_cols),
          Placement::queued_left(queues, Partition::even(shape.rows, height),
                                 fabric::contraction_blocks(queues.x, dealt_cols)),
          Placement::on_first_core(shape)};
}

std::vector<Placement> vector_placements(const Fabric& fabric, Index length) {
  return {Placement::copied(Axis::x, Partition::even(length, fabric.mesh().height)),
          Placement::copied(Axis::y, test::dealt(length, fabric.mesh().width)),
          Placement::plain(Partition::even(1, fabric.mesh().height),
                           Partition::even(length, fabric.mesh().width)),
          Placement::on_first_core({1, length})};
}

// The bits of element (row, col): different for all elements, in 32 and in 16 bits.
std::uint32_t code(Index row, Index col) { return static_cast<std::uint32_t>(1 + row * 97 + col); }

// Calls f(address, code) for every element of the blocks on this rank.
template <class F>
void for_each_element(const Blocks& matrix, F f) {
  const auto& placement = matrix.placement();
  for (Index i = 0; i < placement.rows().parts(); ++i)
    for (Index j = 0; j < placement.cols().parts(); ++j) {
      if (!matrix.here(i, j)) continue;
      std::byte* next = matrix.raw(i, j);
      for (const Index row : placement.rows().indices(i))
        for (const Index col : placement.cols().indices(j)) {
          f(next, code(row, col));
          next += size_of(matrix.type());
        }
    }
}

void fill(Blocks& matrix) {
  for_each_element(matrix, [&](std::byte* element, std::uint32_t bits) {
    std::memcpy(element, &bits, size_of(matrix.type()));
  });
}

// Wrong elements on this rank.
std::int64_t wrong_elements(const Blocks& matrix) {
  std::int64_t wrong = 0;
  for_each_element(matrix, [&](const std::byte* element, std::uint32_t bits) {
    wrong += std::memcmp(element, &bits, size_of(matrix.type())) == 0 ? 0 : 1;
  });
  return wrong;
}

void check_all_pairs(const Fabric& from_fabric, const std::vector<Placement>& from, const Fabric& to_fabric,
                     const std::vector<Placement>& to, DType type) {
  for (std::size_t a = 0; a < from.size(); ++a) {
    Blocks source(from_fabric, from[a], type);
    fill(source);
    for (std::size_t b = 0; b < to.size(); ++b) {
      CAPTURE(a, b, name_of(type));
      Blocks target(to_fabric, to[b], type);
      fabric::redistribute(from_fabric, source, to_fabric, target);
      CHECK(wrong_elements(target) == 0);
    }
    CHECK(wrong_elements(source) == 0);
  }
}

const std::vector<std::pair<Mesh, Mesh>> mesh_pairs = {{{1, 1}, {1, 1}}, {{2, 3}, {2, 3}}, {{2, 3}, {3, 2}},
                                                       {{4, 4}, {5, 2}}, {{1, 4}, {3, 3}}, {{7, 1}, {2, 2}}};

}  // namespace

TEST_CASE("a matrix keeps its elements between any two placements, on one mesh and on two", "[fabric]") {
  for (const auto& [from_mesh, to_mesh] : mesh_pairs)
    for (const Shape shape : {Shape{11, 7}, Shape{1, 1}, Shape{2, 13}, Shape{0, 3}})
      for (const DType type : {DType::f32, DType::bf16}) {
        const Mesh other = to_mesh;
        test::on_every_tiling(from_mesh, [&](const Fabric& from) {
          test::on_every_tiling(other, [&](const Fabric& to) {
            if (from.threads() != 1 || to.threads() != 1) return;
            check_all_pairs(from, matrix_placements(from, shape), to, matrix_placements(to, shape), type);
          });
        });
      }
}

TEST_CASE("a vector keeps its elements between copies along either axis and single parts", "[fabric]") {
  for (const auto& [from_mesh, to_mesh] : mesh_pairs)
    for (const Index length : {1, 3, 17}) {
      const Mesh other = to_mesh;
      test::on_every_tiling(from_mesh, [&](const Fabric& from) {
        test::on_every_tiling(other, [&](const Fabric& to) {
          if (from.threads() != 1 || to.threads() != 1) return;
          check_all_pairs(from, vector_placements(from, length), to, vector_placements(to, length),
                          DType::f32);
        });
      });
    }
}

TEST_CASE("scatter and then gather gives the matrix back at rank 0 and nothing elsewhere", "[fabric]") {
  for (const Mesh mesh : {Mesh{1, 1}, Mesh{2, 3}, Mesh{5, 5}, Mesh{1, 4}})
    for (const Shape shape : {Shape{11, 7}, Shape{1, 1}, Shape{0, 3}})
      test::on_every_tiling(mesh, [&](const Fabric& fabric) {
        const auto whole = test::normals(shape.size(), 1);
        for (const Placement& placement : matrix_placements(fabric, shape)) {
          Blocks matrix(fabric, placement);
          fabric::scatter(fabric, world().is_root() ? whole : std::vector<float>(), matrix);
          const auto back = fabric::gather(fabric, matrix);
          CHECK(test::differing(back, whole) == 0);
          if (!world().is_root()) CHECK(back.empty());
        }
      });
}

TEST_CASE("a redistribution to another shape or type is a mistake of ours", "[fabric]") {
  test::on_every_tiling({2, 3}, [](const Fabric& fabric) {
    const Blocks from(fabric, Placement::on_first_core({2, 3}));
    Blocks other_shape(fabric, Placement::on_first_core({3, 2}));
    Blocks other_type(fabric, Placement::on_first_core({2, 3}), DType::f16);
    CHECK_THROWS_AS(fabric::redistribute(fabric, from, fabric, other_shape), InternalError);
    CHECK_THROWS_AS(fabric::redistribute(fabric, from, fabric, other_type), InternalError);
  });
}
