#include "ops/qk_norm.hpp"

#include <algorithm>
#include <map>

#include "kernels/activation.hpp"
#include "kernels/norm.hpp"

namespace wafer::ops {

using mesh::CoreCoord;

std::vector<fabric::Segment> run_segments(const HeadLayout& heads, const std::vector<Index>& rows) {
  std::vector<fabric::Segment> segments;
  for (const Index row : rows)
    for (const mesh::Range& run : heads.runs()) segments.push_back({row, run});
  return segments;
}

void qk_norm(const fabric::Fabric& fabric, const HeadLayout& heads, const fabric::AllReduce& runs,
             const std::vector<Index>& lines, std::span<const float> query_gamma,
             std::span<const float> key_gamma, float eps,
             const std::function<MatrixView<float>(CoreCoord)>& block_at) {
  const auto count = static_cast<Index>(heads.runs().size());
  const auto row_of = [&](Index segment) { return lines[at(segment / count)]; };
  const auto run_of = [&](Index segment) { return heads.runs()[at(segment % count)]; };
  // Heads of a core that are normed: its query heads, then its key heads.
  const auto heads_of = [&](Index column) { return heads.kv_heads_of(column).size() * (heads.group() + 1); };
  const auto slice = [&](MatrixView<float> block, Index column, Index token, Index head) {
    return block.row(token).subspan(at(head * heads.dims(column)), at(heads.dims(column)));
  };
  const auto tokens_of = [&](Index segment) {
    const mesh::Range shared = run_of(segment);
    const Index column = std::clamp(fabric.tile().columns.begin, shared.begin, shared.end - 1);
    return block_at({row_of(segment), column}).rows();
  };
  std::map<Index, std::vector<float>> sums;  // (segments) one number per token and head
  for (Index segment = 0; segment < static_cast<Index>(lines.size()) * count; ++segment) sums[segment];
  runs.run({[&](Index segment) { return tokens_of(segment) * heads_of(run_of(segment).begin); },
            [&](Index segment, Index column, std::span<float> sum, bool first) {
              const auto block = block_at({row_of(segment), column});
              std::size_t k = 0;
              for (Index token = 0; token < block.rows(); ++token)
                for (Index head = 0; head < heads_of(column); ++head, ++k) {
                  const float own = kernels::sum_of_squares(slice(block, column, token, head));
                  sum[k] = first ? own : sum[k] + own;
                }
            },
            kernels::add,
            [&](Index segment) {
              auto& sum = sums.at(segment);
              sum.resize(at(tokens_of(segment) * heads_of(run_of(segment).begin)));
              return std::span(sum);
            }});
  const auto gamma_of = [&](std::span<const float> gamma, Index column) {
    std::vector<float> part;
    for (const Index dim : heads.dimensions(column)) part.push_back(gamma[at(dim)]);
    return part;
  };
  for (std::size_t line = 0; line < lines.size(); ++line) {
    if (!fabric.tile().rows.contains(lines[line])) continue;
    for (Index column = fabric.tile().columns.begin; column < fabric.tile().columns.end; ++column) {
      const auto block = block_at({lines[line], column});
      const auto& sum = sums.at(static_cast<Index>(line) * count + heads.run_of(column));
      const auto query = gamma_of(query_gamma, column);
      const auto key = gamma_of(key_gamma, column);
      const Index queries = heads.kv_heads_of(column).size() * heads.group();
      std::size_t k = 0;
      for (Index token = 0; token < block.rows(); ++token)
        for (Index head = 0; head < heads_of(column); ++head, ++k) {
          const auto x = slice(block, column, token, head);
          const float scale = kernels::rms_scale(sum[k], static_cast<float>(heads.head_dim()), eps);
          kernels::normalize(x, scale, head < queries ? query : key, x);
        }
    }
  }
}

}  // namespace wafer::ops
