#include "ops/head_layout.hpp"

#include "core/error.hpp"

namespace wafer::ops {

HeadLayout::HeadLayout(Index columns, Index kv_heads, Index group, Index head_dim)
    : kv_heads_(kv_heads), group_(group), head_dim_(head_dim) {
  WAFER_CHECK(head_dim % 2 == 0, "RoPE pairs dimensions");
  const bool whole_heads = columns < kv_heads;
  const auto run_offsets = whole_heads ? part_offsets(columns, columns) : part_offsets(columns, kv_heads);
  const auto head_offsets = part_offsets(kv_heads, whole_heads ? columns : kv_heads);
  for (std::size_t run = 0; run + 1 < run_offsets.size(); ++run) {
    runs_.push_back({run_offsets[run], run_offsets[run + 1]});
    const Index width = runs_.back().size();
    const auto cuts = part_offsets(head_dim / 2, width);
    for (Index j = 0; j < width; ++j) {
      run_of_.push_back(static_cast<Index>(run));
      heads_.push_back({head_offsets[run], head_offsets[run + 1]});
      pairs_.push_back({cuts[at(j)], cuts[at(j) + 1]});
    }
  }
  std::vector<std::vector<Index>> query, key, fused;
  for (Index x = 0; x < columns; ++x) {
    query.push_back(rows_of(x, group));
    key.push_back(rows_of(x, 1));
    fused.push_back(query.back());
    for (const Index row : key.back()) fused.back().push_back(kv_heads * group * head_dim + row);
    for (const Index row : key.back()) fused.back().push_back(kv_heads * (group + 1) * head_dim + row);
  }
  query_ = Partition::of_lists(query);
  key_ = Partition::of_lists(key);
  fused_ = Partition::of_lists(fused);
}

std::vector<Index> HeadLayout::dimensions(Index column) const {
  std::vector<Index> dims;
  const mesh::Range pairs = pairs_of(column);
  for (const Index half : {Index{0}, head_dim_ / 2})
    for (Index j = pairs.begin; j < pairs.end; ++j) dims.push_back(half + j);
  return dims;
}

std::vector<Index> HeadLayout::rows_of(Index column, Index heads_per_kv) const {
  std::vector<Index> rows;
  const auto dims = dimensions(column);
  const mesh::Range heads = kv_heads_of(column);
  for (Index head = heads.begin * heads_per_kv; head < heads.end * heads_per_kv; ++head)
    for (const Index dim : dims) rows.push_back(head * head_dim_ + dim);
  return rows;
}

double HeadLayout::imbalance() const {
  return static_cast<double>(query_.largest() * columns()) / static_cast<double>(query_.length());
}

}  // namespace wafer::ops
