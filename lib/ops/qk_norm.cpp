#include "ops/qk_norm.hpp"

#include <algorithm>

#include "kernels/activation.hpp"
#include "kernels/norm.hpp"

namespace wafer::ops {

using fabric::Fabric;
using mesh::CoreCoord, mesh::Range;

namespace {

using BlockAt = std::function<MatrixView<float>(CoreCoord)>;
using TokensOf = std::function<Index(Index row)>;

// Heads of a core that are normed: its query heads, then its key heads.
Index normed_heads(const HeadLayout& heads, Index column) {
  return heads.kv_heads_of(column).size() * (heads.group() + 1);
}

std::span<float> slice(const HeadLayout& heads, MatrixView<float> block, Index column, Index token,
                       Index head) {
  return block.row(token).subspan(at(head * heads.dims(column)), at(heads.dims(column)));
}

std::vector<float> part_of(std::span<const float> gamma, const HeadLayout& heads, Index column) {
  std::vector<float> part;
  for (const Index dim : heads.dimensions(column)) part.push_back(gamma[at(dim)]);
  return part;
}

// (segments) the sum of squares of every token and head, the same on all columns of a run.
std::vector<std::vector<float>> sums_of_squares(const HeadLayout& heads, const fabric::AllReduce& runs,
                                                const std::vector<fabric::Segment>& segments,
                                                const TokensOf& tokens_of, const BlockAt& block_at) {
  std::vector<std::vector<float>> sums(segments.size());
  const auto length = [&](Index s) {
    return tokens_of(segments[at(s)].line) * normed_heads(heads, segments[at(s)].places.begin);
  };
  runs.run({length,
            [&](Index s, Index column, std::span<float> own) {
              const auto block = block_at({segments[at(s)].line, column});
              const Index count = normed_heads(heads, column);
              for (Index token = 0; token < block.rows(); ++token)
                for (Index head = 0; head < count; ++head)
                  own[at(token * count + head)] =
                      kernels::sum_of_squares(slice(heads, block, column, token, head));
              return own;
            },
            kernels::add,
            [&](Index s) {
              sums[at(s)].resize(at(length(s)));
              return std::span(sums[at(s)]);
            }});
  return sums;
}

}  // namespace

std::vector<fabric::Segment> run_segments(const HeadLayout& heads, const std::vector<Index>& rows,
                                          Index height) {
  std::vector<fabric::Segment> segments;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const Index copies = (k + 1 < rows.size() ? rows[k + 1] : height) - rows[k];
    for (const Range& run : heads.runs()) segments.push_back({rows[k], run, copies});
  }
  return segments;
}

void qk_norm(const Fabric& fabric, const HeadLayout& heads, const fabric::AllReduce& runs,
             const std::vector<Index>& rows, const QkNormWeights& weights, const QkNormBlocks& blocks) {
  const plmr::Operator charged(fabric.execution(), "qk_norm");
  fabric.enter();
  const auto numbers = [&](CoreCoord core) {
    return blocks.tokens_of(core.y) * normed_heads(heads, core.x) * heads.dims(core.x);
  };
  fabric.charge([&](const plmr::Cost& cost, CoreCoord core) { return 2 * cost.vector(numbers(core)); });
  const auto segments = run_segments(heads, rows, fabric.mesh().height);
  const auto& block_at = blocks.block_at;
  const auto sums = sums_of_squares(heads, runs, segments, blocks.tokens_of, block_at);
  fabric.charge([&](const plmr::Cost& cost, CoreCoord core) {
    const Index scales = blocks.tokens_of(core.y) * normed_heads(heads, core.x);
    return scales * (2 * cost.device().divide + cost.device().square_root) + 2 * cost.vector(numbers(core));
  });
  const Range columns = fabric.tile().columns;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    if (!fabric.tile().rows.contains(segments[s].line)) continue;
    const Range run = segments[s].places;
    for (Index column = std::max(run.begin, columns.begin); column < std::min(run.end, columns.end);
         ++column) {
      const auto block = block_at({segments[s].line, column});
      const auto query = part_of(weights.query, heads, column);
      const auto key = part_of(weights.key, heads, column);
      const Index count = normed_heads(heads, column);
      const Index queries = heads.kv_heads_of(column).size() * heads.group();
      for (Index token = 0; token < block.rows(); ++token)
        for (Index head = 0; head < count; ++head) {
          const auto x = slice(heads, block, column, token, head);
          const float sum = sums[s][at(token * count + head)];
          const float scale = kernels::rms_scale(sum, static_cast<float>(heads.head_dim()), weights.eps);
          kernels::normalize(x, scale, head < queries ? query : key, x);
        }
    }
  }
}

}  // namespace wafer::ops
