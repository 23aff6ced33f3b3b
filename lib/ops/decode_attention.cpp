#include "ops/decode_attention.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "kernels/activation.hpp"
#include "kernels/few_rows.hpp"
#include "kernels/rounding.hpp"
#include "kernels/softmax.hpp"
#include "ops/qk_norm.hpp"

namespace wafer::ops {

using fabric::AllReduce, fabric::Blocks, fabric::Fabric;
using mesh::Axis, mesh::CoreCoord, mesh::Range;

namespace {

std::vector<fabric::Segment> one_column_per_run(const Fabric& fabric, const HeadLayout& heads) {
  std::vector<fabric::Segment> segments;
  const mesh::Tiling& tiling = fabric.tiling();
  for (const Range& run : heads.runs())
    for (Index x = run.begin; x < run.end; ++x)
      if (x == run.begin || tiling.rank_of({0, x}) != tiling.rank_of({0, x - 1}))
        segments.push_back({x, {0, fabric.mesh().height}});
      else
        ++segments.back().copies;
  return segments;
}

std::vector<Index> all_rows(const Fabric& fabric) {
  std::vector<Index> rows;
  for (Index y = 0; y < fabric.mesh().height; ++y) rows.push_back(y);
  return rows;
}

class TokenAttention {
public:
  TokenAttention(const Fabric& fabric, const HeadLayout& heads, const Blocks& QKV, const CacheView& cache)
      : fabric_(fabric),
        heads_(heads),
        QKV_(QKV),
        cache_(cache),
        runs_(static_cast<Index>(heads.runs().size())) {}

  // p(row, run): (KV heads x group, tokens of the row), the same on all columns of the run.
  void scores(const AllReduce& reduce) {
    const plmr::Operator charged(fabric_.execution(), "scores");
    fabric_.enter();
    fabric_.charge([this](const plmr::Cost& cost, CoreCoord core) {
      const Index tokens = cache_.count(core.y);
      const Index numbers = queries(heads_.run_of(core.x)) * tokens;  // zeroed, then scaled and masked
      return queries(heads_.run_of(core.x)) * cost.gemv(heads_.dims(core.x), tokens) +
             2 * cost.vector(numbers);
    });
    p_.resize(at(fabric_.mesh().height * runs_));
    const auto length = [&](Index segment) {
      return queries(segment % runs_) * cache_.count(segment / runs_);
    };
    reduce.run({length,
                [&](Index segment, Index x, std::span<float> own) {
                  const CoreCoord core{segment / runs_, x};
                  const Index d = heads_.dims(x);
                  const Index tokens = cache_.count(core.y);
                  for (Index k = 0; k < heads_.kv_heads_of(x).size(); ++k) {
                    const Index group = heads_.group();
                    const auto q = QKV_.vector(x).subspan(at(k * group * d), at(group * d));
                    kernels::few_rows_gemm_nt(
                        {q.data(), {group, d}}, cache_.keys(core).block(0, k * d, {tokens, d}),
                        {own.data() + k * group * tokens, {group, tokens}}, kernels::Output::overwrite);
                  }
                  return own;
                },
                kernels::add,
                [&](Index segment) {
                  p_[at(segment)].resize(at(length(segment)));
                  return std::span(p_[at(segment)]);
                }});
    store_scores();
  }

  void mask(Index position, Index window) {
    if (window == 0) return;  // nothing in the cache is later than the token
    for_local_runs([&](Index y, Index run) {
      const auto p = view(y, run);
      for (Index n = 0; n < p.cols(); ++n) {
        if (cache_.position(y, n) > position - window) continue;
        for (Index r = 0; r < p.rows(); ++r) p(r, n) = -std::numeric_limits<float>::infinity();
      }
    });
  }

  void softmax(const AllReduce& reduce, const std::vector<fabric::Segment>& segments) {
    const plmr::Operator charged(fabric_.execution(), "softmax");
    fabric_.enter();
    fabric_.charge([this](const plmr::Cost& cost, CoreCoord core) {
      return queries(heads_.run_of(core.x)) * cost.maxima(cache_.count(core.y));
    });
    std::vector<std::vector<float>> max(at(runs_));
    sums_.resize(at(runs_));
    const auto run_of = [&](Index segment) { return heads_.run_of(segments[at(segment)].line); };
    const auto length = [&](Index segment) { return queries(run_of(segment)); };
    const auto result = [&](std::vector<std::vector<float>>& of, Index segment) {
      auto& values = of[at(run_of(segment))];
      values.resize(at(length(segment)));
      return std::span(values);
    };
    reduce.run({length,
                [&](Index segment, Index y, std::span<float> most) {
                  const auto p = view(y, run_of(segment));
                  for (Index r = 0; r < p.rows(); ++r) most[at(r)] = kernels::row_max(p.row(r));
                  return most;
                },
                kernels::maximum, [&](Index segment) { return result(max, segment); },
                fabric::Stream::maxima});
    fabric_.charge([this](const plmr::Cost& cost, CoreCoord core) {
      const Index numbers = queries(heads_.run_of(core.x)) * cache_.count(core.y);
      return cost.device().loop + 2 * cost.vector(numbers) + numbers * cost.device().exponential;
    });
    reduce.run({length,
                [&](Index segment, Index y, std::span<float> own) {
                  const auto p = view(y, run_of(segment));
                  for (Index r = 0; r < p.rows(); ++r)
                    own[at(r)] = kernels::exponentials(p.row(r), max[at(run_of(segment))][at(r)]);
                  return own;
                },
                kernels::add, [&](Index segment) { return result(sums_, segment); }});
    store_scores();
  }

  Blocks weighted_values(const AllReduce& columns) {
    const plmr::Operator charged(fabric_.execution(), "values");
    fabric_.enter();
    fabric_.charge([this](const plmr::Cost& cost, CoreCoord core) {
      const Index d = heads_.dims(core.x);
      return queries(heads_.run_of(core.x)) *
             (cost.vector(d) + cost.gemv(cache_.count(core.y), d) + cost.device().divide + cost.vector(d));
    });
    Blocks out(fabric_, fabric::Placement::copied(Axis::y, heads_.query()));
    columns.run({[&](Index x) { return heads_.query().size(x); },
                 [&](Index x, Index y, std::span<float> own) {
                   const auto p = view(y, heads_.run_of(x));
                   const Index d = heads_.dims(x);
                   const Index group = heads_.group();
                   for (Index k = 0; k < heads_.kv_heads_of(x).size(); ++k)
                     kernels::few_rows_gemm(p.block(k * group, 0, {group, p.cols()}),
                                            cache_.values({y, x}).block(0, k * d, {p.cols(), d}),
                                            MatrixView<float>{own.data() + k * group * d, {group, d}},
                                            kernels::Output::overwrite);
                   return own;
                 },
                 kernels::add, [&](Index x) { return out.vector(x); }});
    const Range tile = fabric_.tile().columns;
    for (Index x = tile.begin; x < tile.end && fabric_.tile().cores() > 0; ++x) {
      const auto& sums = sums_[at(heads_.run_of(x))];
      for (std::size_t q = 0; q < sums.size(); ++q)
        kernels::divide(out.vector(x).subspan(q * at(heads_.dims(x)), at(heads_.dims(x))), sums[q]);
    }
    return out;
  }

private:
  Index queries(Index run) const {
    return heads_.kv_heads_of(heads_.runs()[at(run)].begin).size() * heads_.group();
  }
  MatrixView<float> view(Index y, Index run) {
    return {p_[at(y * runs_ + run)].data(), {queries(run), cache_.count(y)}};
  }
  void store_scores() {
    for (auto& p : p_) kernels::round_to(cache_.storage, p);
  }
  template <class F>
  void for_local_runs(F f) {
    for (Index y = fabric_.tile().rows.begin; y < fabric_.tile().rows.end; ++y)
      for (Index run = 0; run < runs_; ++run)
        if (!p_[at(y * runs_ + run)].empty()) f(y, run);
  }
  const Fabric& fabric_;
  const HeadLayout& heads_;
  const Blocks& QKV_;
  const CacheView& cache_;
  Index runs_;
  std::vector<std::vector<float>> p_;     // (rows x runs)
  std::vector<std::vector<float>> sums_;  // (runs)
};

}  // namespace

DecodeAttention::DecodeAttention(const Fabric& fabric, const HeadLayout& heads, fabric::ReduceShape tree)
    : fabric_(&fabric),
      heads_(&heads),
      columns_of_runs_(one_column_per_run(fabric, heads)),
      in_runs_(fabric, Axis::x, run_segments(heads, all_rows(fabric), fabric.mesh().height), tree),
      across_rows_(fabric, Axis::y, columns_of_runs_, tree),
      whole_columns_(AllReduce::of_lines(fabric, Axis::y, tree)) {}

Blocks DecodeAttention::run(const Blocks& QKV, const CacheView& cache, Index position, Index window) const {
  TokenAttention attention(*fabric_, *heads_, QKV, cache);
  attention.scores(in_runs_);
  attention.mask(position, window);
  attention.softmax(across_rows_, columns_of_runs_);
  return attention.weighted_values(whole_columns_);
}

}  // namespace wafer::ops
