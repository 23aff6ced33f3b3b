#include "ops/attention.hpp"

#include "ops/operands.hpp"
#include "ops/plain_attention.hpp"

using namespace wafer;
using fabric::Fabric, fabric::Placement;
using mesh::Mesh;
using ops::HeadLayout;
using test::PlainHeads;

namespace {

const std::vector<Mesh> meshes = {{1, 1}, {2, 3}, {3, 2}, {1, 4}, {4, 1}, {5, 5}, {7, 5}};

struct Case {
  Index tokens, window;
};
const std::vector<Case> cases = {{1, 0}, {3, 0}, {3, 2}, {17, 0}, {17, 1}, {17, 4}, {17, 100}};

std::vector<float> on_mesh(const Fabric& fabric, const PlainHeads& sizes, const std::vector<float>& qkv,
                           Index window) {
  const HeadLayout heads(fabric.mesh().width, sizes.kv_heads, sizes.group, sizes.head_dim);
  const Index tokens = static_cast<Index>(qkv.size()) / sizes.width();
  const auto blocks = test::placed(
      fabric, Placement::plain(Partition::even(tokens, fabric.mesh().height), heads.fused()), qkv);
  return fabric::gather(fabric, ops::attention(fabric, heads, blocks, window));
}

}  // namespace

TEST_CASE("attention is that of plain loops in double: causal, windowed, MQA, GQA and MHA", "[ops]") {
  for (const PlainHeads& heads : test::head_cases)
    for (const Case& c : cases) {
      const auto qkv = test::normals(c.tokens * heads.width(), 1);
      const auto expected = test::plain_attention(heads, qkv, c.window);
      for (const Mesh mesh : meshes) {
        CAPTURE(heads.kv_heads, heads.group, heads.head_dim, c.tokens, c.window);
        const auto alone = test::on_one_rank(
            mesh, [&](const Fabric& fabric) { return on_mesh(fabric, heads, qkv, c.window); });
        REQUIRE(test::distance(alone, expected) <= 1e-5);
        test::on_every_tiling(mesh, [&](const Fabric& fabric) {
          REQUIRE(test::differing(on_mesh(fabric, heads, qkv, c.window), alone) == 0);
        });
      }
    }
}

TEST_CASE("a query of 10^4 e_i picks exactly one value", "[ops]") {
  const Index tokens = 7;
  for (const PlainHeads& heads : {PlainHeads{1, 4, 8}, PlainHeads{2, 3, 8}, PlainHeads{3, 1, 10}})
    for (const Index window : {0, 3}) {
      const auto pick = [&](Index t, Index h) {
        return t - (5 * t + h) % (window == 0 ? t + 1 : std::min(t + 1, window));
      };
      const auto values = test::normals(tokens * heads.kv_heads * heads.head_dim, 2);
      const auto qkv = test::picking(heads, tokens, values, pick);
      const auto expected = test::picked(heads, tokens, values, pick);
      for (const Mesh mesh : meshes)
        test::on_every_tiling(mesh, [&](const Fabric& fabric) {
          CAPTURE(heads.kv_heads, heads.group, window);
          REQUIRE(test::differing(on_mesh(fabric, heads, qkv, window), expected) == 0);
        });
    }
}
