#include "ops/attention.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "fabric/all_reduce.hpp"
#include "fabric/bulk.hpp"
#include "kernels/activation.hpp"
#include "kernels/gemm.hpp"
#include "kernels/softmax.hpp"
#include "ops/mesh_gemm_t.hpp"
#include "ops/storage.hpp"

namespace wafer::ops {

using fabric::Blocks, fabric::Fabric, fabric::Placement, fabric::Use, fabric::Visits;
using mesh::CoreCoord, mesh::Range;

namespace {

Partition times(const Partition& parts, Index factor) {
  std::vector<Index> sizes;
  for (Index p = 0; p < parts.parts(); ++p) sizes.push_back(parts.size(p) * factor);
  return Partition::of_sizes(sizes);
}

// Attention within one run of columns. A block of Q, S or O has the rows [KV head][query head of its
// group][token], one of K or V [KV head][token]: a KV head's rows are neighbours, so its group is one
// product.
class RunAttention {
public:
  RunAttention(const Fabric& fabric, const HeadLayout& heads, const Blocks& QKV, Range columns, Index window,
               DType storage)
      : fabric_(fabric),
        heads_(heads),
        run_(fabric.mesh().height, columns),
        window_(window),
        storage_(storage),
        tokens_(QKV.placement().rows()),
        keys_(fabric::contraction_blocks(run_.queues.y, tokens_)),
        kv_(heads.kv_heads_of(columns.begin).size()),
        group_(heads.group()) {
    std::vector<Index> dims;
    for (Index x = columns.begin; x < columns.end; ++x) dims.push_back(heads.dims(x));
    const Partition cols = dims_ = Partition::of_sizes(dims);
    const auto home = [first = columns.begin](Index y, Index j) { return CoreCoord{y, first + j}; };
    // What QKV and the output hold on the wafer is here in another order.
    Q_ = Blocks::to_write(fabric, Placement(times(tokens_, kv_ * group_), cols, home), std::nullopt);
    O_ = Blocks(fabric, Q_.placement(), DType::f32, std::nullopt);
    K_ = Blocks::to_write(fabric, at_rest_on_columns(run_, times(keys_, kv_), cols), std::nullopt);
    V_ = Blocks::to_write(fabric, K_.placement(), std::nullopt);
    S_ = Blocks(fabric, on_owners(run_, times(tokens_, kv_ * group_), keys_));
    split(QKV);
  }

  void run(Blocks& out) {
    scores();
    softmax();
    weighted_values();
    merge(out);
  }

private:
  template <class F>
  void for_cores(F f) const {
    const Range columns = run_.shared(fabric_.tile());
    const Range rows = fabric_.tile().rows;
    fabric_.parallel(rows.size() * columns.size(), [&](Index k) {
      f(CoreCoord{rows.begin + k / columns.size(), columns.begin + k % columns.size()});
    });
  }
  Index local(Index x) const { return x - run_.columns.begin; }
  // The rows of KV head k in a block: `per_head` each.
  template <class T>
  static MatrixView<T> head(MatrixView<T> block, Index k, Index per_head) {
    return block.block(k * per_head, 0, {per_head, block.cols()});
  }

  bool alive(Index y, Index block) const {
    const auto queries = tokens_.indices(y);
    const auto keys = keys_.indices(block);
    if (queries.empty() || keys.empty() || keys.front() > queries.back()) return false;
    return window_ == 0 || keys.back() > queries.front() - window_;
  }

  // From one row a token to one row a head and token.
  void split(const Blocks& QKV) {
    for_cores([&](CoreCoord core) {
      const auto from = QKV(core.y, core.x);
      const Index d = heads_.dims(core.x);
      const Index tokens = tokens_.size(core.y);
      const auto copy = [&](Index token, Index head, std::span<float> to) {
        std::copy_n(from.row(token).begin() + head * d, d, to.begin());
      };
      for (Index q = 0; q < kv_ * group_; ++q)
        for (Index m = 0; m < tokens; ++m) copy(m, q, Q_(core.y, local(core.x)).row(q * tokens + m));
      Index token = 0;
      for (Index slot = 0; slot < run_.queues.y.slots(core.y); ++slot) {
        const Index block = run_.queues.y.first_slot(core.y) + slot;
        const Index n = keys_.size(block);
        for (Index k = 0; k < kv_; ++k)
          for (Index m = 0; m < n; ++m) {
            copy(token + m, kv_ * group_ + k, K_(block, local(core.x)).row(k * n + m));
            copy(token + m, kv_ * (group_ + 1) + k, V_(block, local(core.x)).row(k * n + m));
          }
        token += n;
      }
    });
  }

  plmr::RotatingProduct shapes() const {
    return rotating_product(run_, kv_, times(tokens_, group_), keys_, dims_,
                            [this](Index y, Index block) { return alive(y, block); });
  }
  // Charges ticks_of(cost, row, rows of a score block, keys in them) to the cores of the run.
  template <class F>
  void charge(F ticks_of) const {
    fabric_.charge([&](const plmr::Cost& cost, CoreCoord core) {
      if (!run_.columns.contains(core.x)) return plmr::Ticks{0};
      Index keys = 0;
      for (Index slot = 0; slot < run_.queues.x.slots(local(core.x)); ++slot) {
        const Index block = run_.queues.x.first_slot(local(core.x)) + slot;
        if (alive(core.y, block)) keys += keys_.size(block);
      }
      return ticks_of(cost, core, kv_ * group_ * tokens_.size(core.y), keys);
    });
  }

  void scores() {
    const plmr::Operator charged(fabric_.execution(), "scores");
    if (fabric_.execution() != nullptr) plmr::scores_product(*fabric_.execution(), run_.queues, shapes());
    const auto product = [&](CoreCoord core, Index block, std::span<float> own) {
      const Index queries = group_ * tokens_.size(core.y);
      const Index n = keys_.size(block);
      const MatrixView<float> S(own.data(), S_.shape(core.y, block));
      for (Index k = 0; k < kv_; ++k)
        kernels::gemm_nt(head(std::as_const(Q_)(core.y, local(core.x)), k, queries),
                         head(std::as_const(K_)(block, local(core.x)), k, n), head(S, k, queries),
                         kernels::Output::overwrite);
    };
    mesh_gemm_t_loop(fabric_, run_, K_, S_, product, [&](Index y, Index block) { return alive(y, block); });
    store_as(fabric_, storage_, S_);
  }

  // Calls f(S block, block) for the blocks of S on a core.
  template <class F>
  void for_scores(Index y, Index x, F f) {
    for (Index slot = 0; slot < run_.queues.x.slots(local(x)); ++slot) {
      const Index block = run_.queues.x.first_slot(local(x)) + slot;
      if (alive(y, block)) f(S_(y, block), block);
    }
  }

  void mask(Index y, Index block, MatrixView<float> S) const {
    const auto queries = tokens_.indices(y);
    const auto keys = keys_.indices(block);
    const auto up_to = [&](Index last) {  // keys, which ascend
      return std::upper_bound(keys.begin(), keys.end(), last) - keys.begin();
    };
    for (Index r = 0; r < S.rows(); ++r) {
      const Index query = queries[at(r) % queries.size()];
      const auto row = S.row(r);
      const auto hide = [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
        std::fill(row.begin() + begin, row.begin() + end, -std::numeric_limits<float>::infinity());
      };
      if (window_ != 0) hide(0, up_to(query - window_));
      hide(up_to(query), std::ssize(row));
    }
  }

  void softmax() {
    const plmr::Operator charged(fabric_.execution(), "softmax");
    charge([](const plmr::Cost& cost, CoreCoord, Index queries, Index keys) {
      return cost.vector(queries * keys) + keys * cost.maxima(queries);
    });
    std::vector<fabric::Segment> rows;
    for (Index y = 0; y < fabric_.mesh().height; ++y) rows.push_back({y, run_.columns});
    const fabric::AllReduce reduce(fabric_, mesh::Axis::x, rows);
    std::vector<std::vector<float>> max(rows.size());
    sums_.resize(rows.size());
    const auto length = [&](Index y) { return kv_ * group_ * tokens_.size(y); };
    const auto result = [&](std::vector<std::vector<float>>& of, Index y) {
      of[at(y)].resize(at(length(y)));
      return std::span(of[at(y)]);
    };
    reduce.run({length,
                [&](Index y, Index x, std::span<float> most) {
                  std::fill(most.begin(), most.end(), -std::numeric_limits<float>::infinity());
                  for_scores(y, x, [&](MatrixView<float> S, Index block) {
                    mask(y, block, S);
                    for (Index r = 0; r < S.rows(); ++r)
                      most[at(r)] = std::max(most[at(r)], kernels::row_max(S.row(r)));
                  });
                  return most;
                },
                kernels::maximum, [&](Index y) { return result(max, y); }, fabric::Stream::maxima});
    charge([](const plmr::Cost& cost, CoreCoord, Index queries, Index keys) {
      return keys * 3 * cost.vector(queries) + keys * queries * cost.device().exponential;
    });
    reduce.run({length,
                [&](Index y, Index x, std::span<float> own) {
                  std::fill(own.begin(), own.end(), 0.0F);
                  for_scores(y, x, [&](MatrixView<float> S, Index) {
                    for (Index r = 0; r < S.rows(); ++r)
                      own[at(r)] += kernels::exponentials(S.row(r), max[at(y)][at(r)]);
                  });
                  return own;
                },
                kernels::add, [&](Index y) { return result(sums_, y); }});
    store_as(fabric_, storage_, S_);
  }

  // O += S V: at step t the owner of the block at the front of V's queue multicasts its S along the run.
  void weighted_values() {
    const plmr::Operator charged(fabric_.execution(), "values");
    if (fabric_.execution() != nullptr) plmr::values_product(*fabric_.execution(), run_.queues, shapes());
    charge([this](const plmr::Cost& cost, CoreCoord core, Index rows, Index) {
      return rows * cost.device().divide + heads_.dims(core.x) * cost.vector(rows);
    });
    if (run_.shared(fabric_.tile()).size() == 0) return;
    const Index steps = run_.queues.blocks();
    const auto multicast = [this](const mesh::Tile& tile) {
      std::vector<Use> uses;
      if (run_.shared(tile).size() == 0) return uses;
      for (Index y = tile.rows.begin; y < tile.rows.end; ++y)
        for (Index t = 0; t < run_.queues.blocks(); ++t)
          if (const Index block = run_.queues.y.front(y, t); alive(y, block))
            uses.push_back({y, block, t, t});
      return uses;
    };
    std::array<Visits, 2> visits = {Visits(fabric_, S_, steps, fabric::chunk_of(steps), multicast),
                                    column_visits(fabric_, run_, V_)};
    fabric::run_chunks(fabric_, steps, visits, [&](Range chunk) {
      for_cores([&](CoreCoord core) {
        const Index queries = group_ * tokens_.size(core.y);
        for (Index t = chunk.begin; t < chunk.end; ++t) {
          const Index block = run_.queues.y.front(core.y, t);
          if (!alive(core.y, block)) continue;
          for (Index k = 0; k < kv_; ++k)
            kernels::gemm(head(std::as_const(S_)(core.y, block), k, queries),
                          head(std::as_const(V_)(block, local(core.x)), k, keys_.size(block)),
                          head(O_(core.y, local(core.x)), k, queries), kernels::Output::add);
        }
      });
    });
  }

  // Divides by the sums, back to one row a token.
  void merge(Blocks& out) {
    for_cores([&](CoreCoord core) {
      const auto O = O_(core.y, local(core.x));
      const Index tokens = tokens_.size(core.y);
      for (Index r = 0; r < O.rows(); ++r) {
        kernels::divide(O.row(r), sums_[at(core.y)][at(r)]);
        std::copy_n(O.row(r).begin(), O.cols(),
                    out(core.y, core.x).row(r % tokens).begin() + r / tokens * O.cols());
      }
    });
  }

  const Fabric& fabric_;
  const HeadLayout& heads_;
  RunMesh run_;
  Index window_;
  DType storage_;
  Partition tokens_;  // over the rows
  Partition keys_;    // over the blocks of the columns' rings
  Partition dims_;    // of a head over the run's columns
  Index kv_;          // KV heads of a core
  Index group_;
  Blocks Q_, K_, V_, S_, O_;
  std::vector<std::vector<float>> sums_;  // (rows)
};

}  // namespace

Blocks attention(const Fabric& fabric, const HeadLayout& heads, const Blocks& QKV, Index window,
                 DType storage) {
  Blocks out = Blocks::to_write(fabric, Placement::plain(QKV.placement().rows(), heads.query()));
  fabric.enter();
  for (const Range& columns : heads.runs())
    RunAttention(fabric, heads, QKV, columns, window, storage).run(out);
  return out;
}

}  // namespace wafer::ops
