#include "ops/qk_norm.hpp"

#include <cmath>

#include "ops/operands.hpp"
#include "ops/plain_attention.hpp"

using namespace wafer;
using fabric::AllReduce, fabric::Fabric, fabric::Placement;
using mesh::Axis, mesh::CoreCoord, mesh::Mesh;
using ops::HeadLayout;
using test::PlainHeads;

namespace {

constexpr float eps = 1e-3F;
const std::vector<Mesh> meshes = {{1, 1}, {2, 3}, {3, 2}, {1, 4}, {5, 5}, {3, 7}};

struct Weights {
  explicit Weights(Index d) : query(test::normals(d, 2)), key(test::normals(d, 3)) {}
  ops::QkNormWeights views() const { return {query, key, eps}; }
  std::vector<float> query, key;
};

// Every query and key head normed in double, the values as they were.
std::vector<double> plain(const PlainHeads& heads, const std::vector<float>& qkv, const Weights& weights) {
  std::vector<double> out(qkv.begin(), qkv.end());
  const Index d = heads.head_dim;
  const Index queries = heads.kv_heads * heads.group;
  for (Index row = 0; row < static_cast<Index>(qkv.size()); row += heads.width())
    for (Index head = 0; head < queries + heads.kv_heads; ++head) {
      double* x = out.data() + row + head * d;
      double sum = 0.0;
      for (Index k = 0; k < d; ++k) sum += x[k] * x[k];
      const double scale = 1.0 / std::sqrt(sum / static_cast<double>(d) + eps);
      for (Index k = 0; k < d; ++k) x[k] *= scale * (head < queries ? weights.query : weights.key)[at(k)];
    }
  return out;
}

}  // namespace

TEST_CASE("query and key heads of a prompt are normed over head_dim, values stay", "[ops]") {
  for (const PlainHeads& sizes : test::head_cases)
    for (const Mesh mesh : meshes)
      for (const Index tokens : {1, 8}) {
        const HeadLayout heads(mesh.width, sizes.kv_heads, sizes.group, sizes.head_dim);
        const Weights weights(sizes.head_dim);
        const auto qkv = test::normals(tokens * sizes.width(), 1);
        std::vector<Index> rows;
        for (Index y = 0; y < mesh.height; ++y) rows.push_back(y);
        const auto on_mesh = [&](const Fabric& fabric) {
          auto X = test::placed(fabric, Placement::plain(Partition::even(tokens, mesh.height), heads.fused()),
                                qkv);
          const AllReduce runs(fabric, Axis::x, ops::run_segments(heads, rows, mesh.height));
          ops::qk_norm(fabric, heads, runs, rows, weights.views(),
                       {[&](Index y) { return X.placement().rows().size(y); },
                        [&](CoreCoord core) { return X(core.y, core.x); }});
          return fabric::gather(fabric, X);
        };
        const auto alone = test::on_one_rank(mesh, on_mesh);
        REQUIRE(test::distance(alone, plain(sizes, qkv, weights)) <= 2e-6);
        test::on_every_tiling(
            mesh, [&](const Fabric& fabric) { REQUIRE(test::differing(on_mesh(fabric), alone) == 0); });
      }
}

TEST_CASE("in decode every copy of the token is normed, and once", "[ops]") {
  for (const PlainHeads& sizes : test::head_cases)
    for (const Mesh mesh : meshes) {
      const HeadLayout heads(mesh.width, sizes.kv_heads, sizes.group, sizes.head_dim);
      const Weights weights(sizes.head_dim);
      const auto qkv = test::normals(sizes.width(), 1);
      const auto expected = plain(sizes, qkv, weights);
      test::on_every_tiling(mesh, [&](const Fabric& fabric) {
        auto x = test::placed(fabric, Placement::copied(Axis::y, heads.fused()), qkv);
        const auto lines = fabric::first_lines(fabric, Axis::x);
        const AllReduce runs(fabric, Axis::x, ops::run_segments(heads, lines, mesh.height));
        ops::qk_norm(fabric, heads, runs, lines, weights.views(),
                     {[](Index) { return Index{1}; }, [&](CoreCoord core) { return x(0, core.x); }});
        for (Index column = 0; column < mesh.width; ++column)
          for (Index k = 0; k < heads.fused().size(column) && x.here(0, column); ++k)
            CHECK(std::abs(static_cast<double>(x.vector(column)[at(k)]) -
                           expected[at(heads.fused().indices(column)[at(k)])]) <= 1e-5);
      });
    }
}
