#include "ops/decode_attention.hpp"

#include "ops/operands.hpp"
#include "ops/plain_attention.hpp"

using namespace wafer;
using fabric::Blocks, fabric::Fabric, fabric::Placement;
using mesh::Axis, mesh::CoreCoord, mesh::Mesh;
using ops::HeadLayout;
using test::PlainHeads;

namespace {

const std::vector<Mesh> meshes = {{1, 1}, {2, 3}, {3, 2}, {1, 4}, {4, 1}, {5, 5}, {7, 5}};

// How tokens lie over the rows: evenly, all on the bottom row, or by a rule that leaves rows empty.
enum class Spread { even, bottom, gaps };

Partition spread_over(Spread spread, Index tokens, Index rows) {
  if (spread == Spread::even) return Partition::even(tokens, rows);
  std::vector<Index> sizes(at(rows), 0);
  Index left = tokens;
  for (Index y = 0; y + 1 < rows && spread == Spread::gaps; ++y)
    left -= sizes[at(y)] = y % 2 == 0 ? 0 : std::min(left, Index{3});
  sizes.back() += left;
  return Partition::of_sizes(sizes);
}

// The last token's attention over a cache that holds the whole sequence.
std::vector<float> on_mesh(const Fabric& fabric, const PlainHeads& sizes, const std::vector<float>& qkv,
                           Index window, Spread spread) {
  const HeadLayout heads(fabric.mesh().width, sizes.kv_heads, sizes.group, sizes.head_dim);
  const Index tokens = static_cast<Index>(qkv.size()) / sizes.width();
  const Partition rows = spread_over(spread, tokens, fabric.mesh().height);
  std::vector<test::Local> keys, values;  // (cores)
  for (Index y = 0; y < fabric.mesh().height; ++y)
    for (Index x = 0; x < fabric.mesh().width; ++x) {
      std::vector<Index> key_columns, value_columns;
      for (const Index row : heads.key().indices(x)) {
        key_columns.push_back(sizes.query_width() + row);
        value_columns.push_back(sizes.query_width() + heads.key().length() + row);
      }
      keys.push_back(test::block_of(qkv, sizes.width(), rows.indices(y), key_columns));
      values.push_back(test::block_of(qkv, sizes.width(), rows.indices(y), value_columns));
    }
  const auto number = [&](CoreCoord core) { return at(core.y * fabric.mesh().width + core.x); };
  const ops::CacheView cache = {[&](CoreCoord core) { return std::as_const(keys[number(core)]).view(); },
                                [&](CoreCoord core) { return std::as_const(values[number(core)]).view(); },
                                [&](Index row) { return rows.size(row); },
                                [&](Index row, Index n) { return rows.offset(row) + n; }};
  const std::vector<float> last(qkv.end() - sizes.width(), qkv.end());
  const auto token = test::placed(fabric, Placement::copied(Axis::y, heads.fused()), last);
  const Blocks out = ops::DecodeAttention(fabric, heads).run(token, cache, tokens - 1, window);
  return fabric::gather(fabric, out);
}

}  // namespace

TEST_CASE("a token's attention over the cache is that of plain loops in double, however rows are filled",
          "[ops]") {
  for (const PlainHeads& heads : test::head_cases)
    for (const Index tokens : {1, 3, 17})
      for (const Index window : {0, 1, 4}) {
        const auto qkv = test::normals(tokens * heads.width(), 1);
        const auto all = test::plain_attention(heads, qkv, window);
        const auto expected = std::span(all).last(at(heads.query_width()));
        for (const Mesh mesh : meshes)
          for (const Spread spread : {Spread::even, Spread::bottom, Spread::gaps}) {
            CAPTURE(heads.kv_heads, heads.group, heads.head_dim, tokens, window, static_cast<int>(spread));
            const auto alone = test::on_one_rank(
                mesh, [&](const Fabric& fabric) { return on_mesh(fabric, heads, qkv, window, spread); });
            REQUIRE(test::distance(alone, expected) <= 1e-5);
            test::on_every_tiling(mesh, [&](const Fabric& fabric) {
              if (fabric.threads() > 1 && spread != Spread::even) return;  // once is enough
              REQUIRE(test::differing(on_mesh(fabric, heads, qkv, window, spread), alone) == 0);
            });
          }
      }
}

TEST_CASE("a token whose query is 10^4 e_i picks exactly one value of the cache", "[ops]") {
  const Index tokens = 7;
  for (const PlainHeads& heads : {PlainHeads{1, 4, 8}, PlainHeads{2, 3, 8}, PlainHeads{3, 1, 10}})
    for (const Index window : {0, 3}) {
      const auto pick = [&](Index t, Index h) {
        return t - (5 * t + h) % (window == 0 ? t + 1 : std::min(t + 1, window));
      };
      const auto values = test::normals(tokens * heads.kv_heads * heads.head_dim, 2);
      const auto qkv = test::picking(heads, tokens, values, pick);
      auto expected = test::picked(heads, tokens, values, pick);
      expected.erase(expected.begin(), expected.end() - heads.query_width());
      for (const Mesh mesh : meshes)
        test::on_every_tiling(mesh, [&](const Fabric& fabric) {
          CAPTURE(heads.kv_heads, heads.group, window);
          REQUIRE(test::differing(on_mesh(fabric, heads, qkv, window, Spread::gaps), expected) == 0);
        });
    }
}
