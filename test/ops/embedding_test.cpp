#include "ops/embedding.hpp"

#include "ops/operands.hpp"

using namespace wafer;
using fabric::Fabric, fabric::Placement;
using mesh::Mesh;

namespace {

constexpr Index features = 11;

struct Table {
  Index vocabulary;
  DType type;
  std::vector<float> values() const {  // (E, V)
    return test::rounded(test::normals(features * vocabulary, 1), type);
  }
  fabric::Blocks on(const Fabric& fabric) const {
    const auto placement = Placement::plain(Partition::even(features, fabric.mesh().height),
                                            Partition::even(vocabulary, fabric.mesh().width));
    return test::placed_as(type, fabric, placement, values());
  }
};

const std::vector<Table> tables = {{1, DType::f32}, {3, DType::bf16}, {29, DType::f32}, {29, DType::f16}};
const std::vector<Mesh> meshes = {{1, 1}, {2, 3}, {1, 4}, {5, 5}};

}  // namespace

TEST_CASE("the rows of a prompt are those of its ids, in order and however often", "[ops]") {
  for (const Table& table : tables)
    for (const Mesh table_mesh : meshes)
      for (const Index tokens : {1, 2, 13}) {
        const auto values = table.values();
        std::vector<Index> ids;
        std::vector<float> expected;
        for (Index t = 0; t < tokens; ++t) {
          ids.push_back(t * t * 5 % table.vocabulary);
          for (Index e = 0; e < features; ++e)
            expected.push_back(values[at(e * table.vocabulary + ids.back())]);
        }
        test::on_every_tiling(table_mesh, [&](const Fabric& table_fabric) {
          const auto stored = table.on(table_fabric);
          test::on_every_tiling({3, 2}, [&](const Fabric& fabric) {
            const auto X = ops::embed(table_fabric, stored, ids, fabric, Partition::even(tokens, 3),
                                      test::dealt(features, 2));
            REQUIRE(test::differing(fabric::gather(fabric, X), expected) == 0);
          });
        });
      }
}

TEST_CASE("one token's row is copied to every column", "[ops]") {
  for (const Table& table : tables)
    for (const Mesh mesh : meshes)
      test::on_every_tiling(mesh, [&](const Fabric& fabric) {
        const auto values = table.values();
        const auto stored = table.on(fabric);
        for (const Index id : {Index{0}, table.vocabulary / 2, table.vocabulary - 1}) {
          const auto x = ops::embed_token(fabric, stored, id);
          const auto& parts = x.placement().cols();
          for (Index y = 0; y < parts.parts(); ++y) {
            CHECK((x.here(0, y) || !x.placement().lies_in(fabric.tile(), 0, y)));
            for (Index k = 0; k < parts.size(y) && x.here(0, y); ++k)
              CHECK(x.vector(y)[at(k)] == values[at(parts.indices(y)[at(k)] * table.vocabulary + id)]);
          }
        }
      });
}
