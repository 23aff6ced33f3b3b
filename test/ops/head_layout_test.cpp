#include "ops/head_layout.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "support/catch.hpp"

using namespace wafer;
using ops::HeadLayout;

namespace {

struct Heads {
  Index kv_heads, group, head_dim;
};
const std::vector<Heads> models = {{1, 1, 2}, {1, 6, 8},  {2, 3, 6}, {3, 2, 32},
                                   {4, 1, 4}, {5, 2, 10}, {8, 4, 16}};

template <class F>
void for_each_layout(F f) {
  for (const Heads& heads : models)
    for (Index columns = 1; columns <= 17; ++columns) {
      CAPTURE(columns, heads.kv_heads, heads.group, heads.head_dim);
      f(HeadLayout(columns, heads.kv_heads, heads.group, heads.head_dim));
    }
}

}  // namespace

TEST_CASE("the runs cover all columns in order, and all columns of a run have the same KV heads", "[ops]") {
  for_each_layout([](const HeadLayout& heads) {
    Index next = 0;
    Index next_head = 0;
    for (std::size_t r = 0; r < heads.runs().size(); ++r) {
      const mesh::Range run = heads.runs()[r];
      CHECK(run.begin == next);
      CHECK(run.size() > 0);
      const mesh::Range kv = heads.kv_heads_of(run.begin);
      CHECK(kv.begin == next_head);
      CHECK(kv.size() > 0);
      for (Index x = run.begin; x < run.end; ++x) {
        CHECK(heads.run_of(x) == static_cast<Index>(r));
        CHECK(heads.kv_heads_of(x) == kv);
      }
      next = run.end;
      next_head = kv.end;
    }
    CHECK(next == heads.columns());
    CHECK(next_head == heads.kv_heads());
  });
}

TEST_CASE("with enough columns a run has one KV head, otherwise a column has whole heads", "[ops]") {
  for_each_layout([](const HeadLayout& heads) {
    for (Index x = 0; x < heads.columns(); ++x)
      if (heads.columns() >= heads.kv_heads())
        CHECK(heads.kv_heads_of(x).size() == 1);
      else
        CHECK(heads.dims(x) == heads.head_dim());
  });
}

TEST_CASE("every row of W_Q, W_K and W_V is on one column, once", "[ops]") {
  for_each_layout([](const HeadLayout& heads) {  // a Partition that holds an index twice cannot be made
    const Index kv = heads.kv_heads() * heads.head_dim();
    CHECK(heads.query().length() == kv * heads.group());
    CHECK(heads.key().length() == kv);
    CHECK(heads.fused().length() == kv * (heads.group() + 2));
    CHECK(heads.query().parts() == heads.columns());
    CHECK(heads.key().parts() == heads.columns());
    CHECK(heads.fused().parts() == heads.columns());
  });
}

TEST_CASE("both halves of a RoPE pair, and a query head with its KV head, are on one column", "[ops]") {
  for_each_layout([](const HeadLayout& heads) {
    const Index d = heads.head_dim();
    for (Index row = 0; row < heads.query().length(); ++row) {
      const Index head = row / d;
      const Index dim = row % d;
      const Index column = heads.query().part_of(row);
      CHECK(heads.pairs_of(column).contains(dim % (d / 2)));
      CHECK(heads.kv_heads_of(column).contains(head / heads.group()));
      CHECK(heads.key().part_of(head / heads.group() * d + dim) == column);
    }
  });
}

TEST_CASE("a column's order is KV head, query head, first halves, second halves; then keys, then values",
          "[ops]") {
  for_each_layout([](const HeadLayout& heads) {
    const Index d = heads.head_dim();
    const Index group = heads.group();
    for (Index x = 0; x < heads.columns(); ++x) {
      std::vector<Index> dims, expected;
      for (Index j = heads.pairs_of(x).begin; j < heads.pairs_of(x).end; ++j) dims.push_back(j);
      for (Index j = heads.pairs_of(x).begin; j < heads.pairs_of(x).end; ++j) dims.push_back(j + d / 2);
      CHECK(heads.dimensions(x) == dims);
      const mesh::Range kv = heads.kv_heads_of(x);
      for (Index head = kv.begin * group; head < kv.end * group; ++head)
        for (const Index dim : dims) expected.push_back(head * d + dim);
      for (const Index matrix : {Index{0}, Index{1}})
        for (Index head = kv.begin; head < kv.end; ++head)
          for (const Index dim : dims)
            expected.push_back((heads.kv_heads() * (group + matrix) + head) * d + dim);
      const auto fused = heads.fused().indices(x);
      CHECK(std::vector<Index>(fused.begin(), fused.end()) == expected);
    }
  });
}

TEST_CASE("two KV heads of 8 dimensions on 3 columns lie as the header says", "[ops]") {
  const HeadLayout heads(3, 2, 1, 8);
  CHECK(heads.runs() == std::vector<mesh::Range>{{0, 2}, {2, 3}});
  CHECK(heads.dimensions(0) == std::vector<Index>{0, 1, 4, 5});
  CHECK(heads.dimensions(1) == std::vector<Index>{2, 3, 6, 7});
  CHECK(heads.dimensions(2) == std::vector<Index>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(heads.key().indices(1)[3] == 7);
  CHECK(heads.key().indices(2)[0] == 8);
}

TEST_CASE("columns are idle only where a run is wider than there are pairs", "[ops]") {
  const HeadLayout heads(7, 1, 2, 6);
  for (Index x = 0; x < 7; ++x) CHECK(heads.dims(x) == (x < 3 ? 2 : 0));
  for_each_layout([](const HeadLayout& layout) {
    for (Index x = 0; x < layout.columns(); ++x)
      if (layout.runs()[at(layout.run_of(x))].size() <= layout.head_dim() / 2) CHECK(layout.dims(x) > 0);
  });
}

TEST_CASE("the imbalance of LLaMA3-8B is that of the plan", "[ops]") {
  const std::vector<std::pair<Index, double>> table = {
      {480, 1.88}, {600, 1.17}, {660, 1.29}, {720, 1.41}, {512, 1.00}};
  for (const auto& [columns, imbalance] : table) {
    CAPTURE(columns);
    CHECK(std::abs(HeadLayout(columns, 8, 4, 128).imbalance() - imbalance) <= 0.005);
  }
}

TEST_CASE("an odd head dimension is a mistake of ours", "[ops]") {
  CHECK_THROWS_AS(HeadLayout(2, 1, 1, 7), InternalError);
}
