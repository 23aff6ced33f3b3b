#include "ops/rope.hpp"

#include <cmath>

#include "kernels/rope.hpp"

namespace wafer::ops {

void charge_rope(const fabric::Fabric& fabric, const HeadLayout& heads,
                 const std::function<Index(Index row)>& tokens_of) {
  const plmr::Operator charged(fabric.execution(), "rope");
  fabric.charge([&](const plmr::Cost& cost, mesh::CoreCoord core) {
    const Index kv = heads.kv_heads_of(core.x).size();
    const Index pairs = heads.pairs_of(core.x).size();
    const Index tokens = tokens_of(core.y);
    if (tokens == 1) return 6 * (cost.vector(kv * heads.group() * pairs) + cost.vector(kv * pairs));
    return kv * (heads.group() + 1) * pairs * 6 * cost.vector(tokens);
  });
}

void rope(const HeadLayout& heads, Index column, const RopeFrequencies& frequencies, Index first_position,
          MatrixView<float> block) {
  const mesh::Range pairs = heads.pairs_of(column);
  const std::size_t n = at(pairs.size());
  const Index kv = heads.kv_heads_of(column).size();
  const auto query_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(heads.head_dim())));
  std::vector<float> cosine(n), sine(n);
  for (Index m = 0; m < block.rows(); ++m) {
    for (std::size_t j = 0; j < n; ++j) {
      // In double: a float32 angle is off by 1e-4 a thousand tokens in.
      const double angle = static_cast<double>(first_position + m) * frequencies.inverse[at(pairs.begin) + j];
      cosine[j] = static_cast<float>(std::cos(angle) * frequencies.scale);
      sine[j] = static_cast<float>(std::sin(angle) * frequencies.scale);
    }
    const auto row = block.row(m);
    for (Index head = 0; head < kv * (heads.group() + 1); ++head) {  // all queries, then all keys
      const auto slice = row.subspan(at(head) * 2 * n, 2 * n);
      kernels::rotate(slice.first(n), slice.last(n), cosine, sine,
                      head < kv * heads.group() ? query_scale : 1.0F);
    }
  }
}

}  // namespace wafer::ops
