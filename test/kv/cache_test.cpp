#include "kv/cache.hpp"

#include <set>

#include "core/error.hpp"
#include "fabric/tilings.hpp"

using namespace wafer;
using fabric::Blocks, fabric::Fabric, fabric::Placement;
using kv::Cache, kv::Policy;
using mesh::Axis, mesh::Mesh;
using ops::HeadLayout;

namespace {

constexpr Index layers = 2;
constexpr Index group = 2;
const std::vector<Mesh> meshes = {{1, 1}, {1, 4}, {4, 1}, {2, 3}, {5, 2}, {7, 3}};

HeadLayout heads_of(Mesh mesh) { return {mesh.width, 2, group, 6}; }

// Key or value of a token: element `row` of W_K's or W_V's rows. All different.
float entry(Index layer, Index token, Index row, bool is_value) {
  return static_cast<float>(1 + token * 256 + layer * 64 + row * 2 + (is_value ? 1 : 0));
}

// A new token as decode has it: query, key and value of a column, the same on all rows.
Blocks new_token(const Fabric& fabric, const HeadLayout& heads, Index layer, Index token) {
  Blocks qkv(fabric, Placement::copied(Axis::y, heads.fused()));
  for (Index x = 0; x < heads.columns(); ++x) {
    if (!qkv.here(0, x)) continue;
    const auto values = qkv.vector(x);
    const auto rows = heads.key().indices(x);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      values[group * rows.size() + k] = entry(layer, token, rows[k], false);
      values[(group + 1) * rows.size() + k] = entry(layer, token, rows[k], true);
    }
  }
  return qkv;
}

void append(Cache& cache, const Fabric& fabric, const HeadLayout& heads) {
  const Index token = cache.tokens();
  cache.begin_token();
  for (Index layer = 0; layer < layers; ++layer) cache.append(layer, new_token(fabric, heads, layer, token));
}

void fill(Cache& cache, const Fabric& fabric, const HeadLayout& heads, Index tokens) {
  for (Index layer = 0; layer < layers; ++layer) {
    std::vector<float> keys, values;
    for (Index token = 0; token < tokens; ++token)
      for (Index row = 0; row < heads.key().length(); ++row) {
        keys.push_back(entry(layer, token, row, false));
        values.push_back(entry(layer, token, row, true));
      }
    cache.fill(layer, test::placed(fabric, cache.placement(tokens), keys),
               test::placed(fabric, cache.placement(tokens), values));
  }
}

// Entries of this rank's cores that are not the right token's.
std::int64_t wrong_entries(const Cache& cache, const Fabric& fabric, const HeadLayout& heads) {
  std::int64_t wrong = 0;
  for (Index layer = 0; layer < layers; ++layer) {
    const auto view = cache.view(layer);
    for (Index y = fabric.tile().rows.begin; y < fabric.tile().rows.end; ++y)
      for (Index x = fabric.tile().columns.begin; x < fabric.tile().columns.end; ++x) {
        const auto rows = heads.key().indices(x);
        const auto keys = view.keys({y, x});
        const auto values = view.values({y, x});
        const Shape shape{view.count(y), static_cast<Index>(rows.size())};
        const bool fits = keys.shape() == shape && values.shape() == shape;
        if (!fits) ++wrong;
        for (Index n = 0; n < shape.rows && fits; ++n)
          for (Index k = 0; k < shape.cols; ++k) {
            const Index token = view.position(y, n);
            wrong += keys(n, k) == entry(layer, token, rows[at(k)], false) ? 0 : 1;
            wrong += values(n, k) == entry(layer, token, rows[at(k)], true) ? 0 : 1;
          }
      }
  }
  return test::world().max(wrong);
}

// Every token once, on rows as full as the policy wants them; nothing else in memory.
void check(const Cache& cache, const Fabric& fabric, const HeadLayout& heads,
           const std::vector<Index>& counts) {
  CAPTURE(cache.tokens());
  REQUIRE(cache.occupancy() == counts);
  std::set<Index> tokens;  // every one on one row
  Index elements = 0;
  for (Index y = 0; y < fabric.mesh().height; ++y) {
    REQUIRE(cache.view(0).count(y) == counts[at(y)]);
    for (Index n = 0; n < counts[at(y)]; ++n) tokens.insert(cache.view(0).position(y, n));
    if (!fabric.tile().rows.contains(y)) continue;
    for (Index x = fabric.tile().columns.begin; x < fabric.tile().columns.end; ++x)
      elements += counts[at(y)] * heads.key().size(x);
  }
  REQUIRE(static_cast<Index>(tokens.size()) == cache.tokens());
  if (!tokens.empty()) REQUIRE((*tokens.begin() == 0 && *tokens.rbegin() == cache.tokens() - 1));
  REQUIRE(wrong_entries(cache, fabric, heads) == 0);
  CHECK(cache.bytes() == static_cast<std::int64_t>(elements * layers * 2 * 4));
}

void check_appends(const Fabric& fabric, Policy policy, Index prompt) {
  const HeadLayout heads = heads_of(fabric.mesh());
  Cache cache(fabric, heads, layers, policy);
  CAPTURE(kv::to_string(policy), prompt);
  if (prompt > 0) fill(cache, fabric, heads, prompt);
  auto counts = kv::initial_counts(prompt, fabric.mesh().height);
  check(cache, fabric, heads, counts);
  for (Index token = 0; token < 3 * fabric.mesh().height + 2; ++token) {
    append(cache, fabric, heads);
    kv::add_token(policy, counts);
    check(cache, fabric, heads, counts);
  }
}

}  // namespace

TEST_CASE("from empty, every entry is the right token's after any number of appends", "[kv]") {
  for (const Mesh mesh : meshes)
    for (const Policy policy : {Policy::shift, Policy::concat, Policy::round_robin})
      test::on_every_tiling(mesh, [policy](const Fabric& fabric) { check_appends(fabric, policy, 0); });
}

TEST_CASE("after a prompt of any length, shorter than the mesh is high too, appends go on in order", "[kv]") {
  for (const Mesh mesh : meshes)
    for (const Policy policy : {Policy::shift, Policy::concat, Policy::round_robin})
      for (const Index prompt :
           {Index{1}, mesh.height - 1, mesh.height, mesh.height + 1, 2 * mesh.height + 1})
        test::on_every_tiling(mesh, [&](const Fabric& fabric) {
          if (fabric.threads() == 1 && prompt > 0) check_appends(fabric, policy, prompt);
        });
}

TEST_CASE(
    "with shift and concat tokens lie in order; with round-robin a new one stays on the row of its turn",
    "[kv]") {
  for (const Policy policy : {Policy::shift, Policy::concat, Policy::round_robin})
    test::on_every_tiling({3, 2}, [policy](const Fabric& fabric) {
      const HeadLayout heads = heads_of(fabric.mesh());
      Cache cache(fabric, heads, layers, policy);
      fill(cache, fabric, heads, 4);  // tokens 0, 1 | 2 | 3
      for (int token = 4; token < 9; ++token) append(cache, fabric, heads);
      std::vector<std::vector<Index>> rows(3);
      for (Index y = 0; y < 3; ++y)
        for (Index n = 0; n < cache.view(0).count(y); ++n)
          rows[at(y)].push_back(cache.view(0).position(y, n));
      using Rows = std::vector<std::vector<Index>>;
      if (policy == Policy::shift) CHECK(rows == Rows{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}});
      if (policy == Policy::concat) CHECK(rows == Rows{{0, 1}, {2}, {3, 4, 5, 6, 7, 8}});
      if (policy == Policy::round_robin) CHECK(rows == Rows{{0, 1, 6}, {2, 4, 7}, {3, 5, 8}});
    });
}

TEST_CASE("a cleared cache is empty and takes another prompt", "[kv]") {
  for (const Mesh mesh : {Mesh{2, 3}, Mesh{5, 2}})
    test::on_every_tiling(mesh, [](const Fabric& fabric) {
      const HeadLayout heads = heads_of(fabric.mesh());
      Cache cache(fabric, heads, layers, Policy::shift);
      fill(cache, fabric, heads, 7);
      append(cache, fabric, heads);
      cache.clear();
      check(cache, fabric, heads, std::vector<Index>(at(fabric.mesh().height), 0));
      CHECK(cache.bytes() == 0);

      fill(cache, fabric, heads, 3);
      append(cache, fabric, heads);
      check(cache, fabric, heads, kv::initial_counts(4, fabric.mesh().height));
    });
}

TEST_CASE("a prompt into a cache that is not empty is a mistake of ours", "[kv]") {
  test::on_every_tiling({2, 3}, [](const Fabric& fabric) {
    const HeadLayout heads = heads_of(fabric.mesh());
    Cache cache(fabric, heads, layers, Policy::shift);
    fill(cache, fabric, heads, 7);
    const auto again =
        test::placed(fabric, cache.placement(7), std::vector<float>(at(7 * heads.key().length())));
    if (fabric.tile().cores() > 0) CHECK_THROWS_AS(cache.fill(0, again, again), InternalError);
  });
}
