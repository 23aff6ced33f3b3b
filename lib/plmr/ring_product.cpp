#include "plmr/ring_product.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "core/error.hpp"
#include "plmr/narrow_ring.hpp"
#include "plmr/ring_line.hpp"
#include "plmr/ring_rows.hpp"

namespace wafer::plmr {

using mesh::Axis;

namespace {

template <class Clock>
class Product {
public:
  Product(Execution& execution, std::vector<Clock>& clocks, const mesh::QueuePlan& queues,
          mesh::CoreCoord origin, const RingProduct& product)
      : execution_(execution),
        device_(execution.device()),
        cost_(execution.cost()),
        clocks_(clocks),
        product_(product),
        origin_(origin),
        x_(device_, queues.x, Axis::x, origin.x),
        y_(device_, queues.y, Axis::y, origin.y),
        steps_(queues.blocks()),
        stride_(at(x_.size() + 2)),
        blocks_(product.blocks),
        even_(std::all_of(blocks_.begin(), blocks_.end(), [&](Index k) { return k == blocks_.front(); })),
        post_((x_.moves() ? device_.shift : 0) + (y_.moves() ? device_.shift : 0)),
        costs_(x_.size()),
        align_hops_(at(x_.size())) {
    blocks_.insert(blocks_.end(), product.blocks.begin(), product.blocks.end());  // block l + NB is block l
    now_.resize(at(y_.size()) * stride_);
    then_.resize(now_.size());
  }

  void run() {
    make_tables();
    fetch();
    if (product_.align != Align::none && x_.moves()) align();
    Index first = 0;
    if constexpr (std::is_same_v<Clock, Ticks>)
      if (distinct_.size() == 2)
        first = run_narrow({x_, y_, tables_of_, sizes_, slots_, post_, waits(), steps_}, now_);
    for (Index t = first; t < steps_; ++t) {
      step(t);
      const bool look = even_ && (t & (t + 1)) == 0;  // after 1, 2, 4, 8 steps ...
      if (look && skip_rest(steps_ - 1 - t)) break;
    }
    store();
    account();
  }

private:
  Index width() const { return x_.size(); }
  std::size_t core(Index y, Index x) const {
    return at((origin_.y + y) * execution_.mesh().width + origin_.x + x);
  }
  Index rows_of(Index q) const { return product_.rows[at(y_.places[at(q)])]; }
  Index columns_of(Index p) const { return product_.columns[at(x_.places[at(p)])]; }
  Clock* row(std::vector<Clock>& clocks, Index q) {
    return clocks.data() + at(wrap(q, y_.size())) * stride_ + 1;
  }
  Ticks words(Index elements) const { return cost_.shift_words(elements) * device_.word; }
  bool waits() const { return device_.channel == Channel::rendezvous; }

  // From the rows' physical order to the rings'.
  void fetch() {
    for (Index q = 0; q < y_.size(); ++q)
      for (Index p = 0; p < width(); ++p) row(now_, q)[p] = clocks_[core(y_.places[at(q)], x_.places[at(p)])];
  }
  void store() {
    for (Index q = 0; q < y_.size(); ++q)
      for (Index p = 0; p < width(); ++p) clocks_[core(y_.places[at(q)], x_.places[at(p)])] = row(now_, q)[p];
  }
  void close_ring(Clock* row) {
    row[-1] = row[width() - 1];
    row[width()] = row[0];
  }

  void step(Index t) {
    for (Index q = 0; q < y_.size(); ++q) close_ring(row(now_, q));
    Index filled_for = -1;  // rows of A that costs_ is for; with even blocks they do not change over time
    Ticks latency = never;
    for (Index q = 0; q < y_.size(); ++q) {
      const Rows<Clock> rows{row(now_, q), row(now_, q + 1), row(now_, q - 1), row(then_, q)};
      if (!even_ || filled_for != rows_of(q) || latency != y_.latency[at(q)]) fill(q, t);
      filled_for = rows_of(q);
      latency = y_.latency[at(q)];
      if constexpr (std::is_same_v<Clock, Ticks>)
        step_row(rows, costs_, post_, width());
      else
        step_row(rows, costs_, post_, width(), {x_.hops, y_.hops[at(q)]});
    }
    now_.swap(then_);
  }

  // What row q's costs are at step t: the blocks at hand decide, and they come in few sizes.
  void fill(Index q, Index t) {
    const RowCosts& table = *tables_of_[at(q)];
    const Index* shifted = sizes_.data() + wrap(y_.first_slot[at(q)] + t, steps_);
    const Index* above = sizes_.data() + wrap(y_.first_slot[at((q + 1) % y_.size())] + t, steps_);
    const Index* slot = slots_.data();
    const Index n = width();
    const Ticks up = y_.latency[at(q)];
    const bool rendezvous = waits();
    const Ticks *work = table.work.data(), *left_in = table.left_in.data(), *left_out = table.left_out.data(),
                *right_in = table.right_in.data(), *right_out = table.right_out.data();
    Ticks *__restrict to_work = costs_.work.data(), *__restrict to_least = costs_.least.data(),
                     *__restrict to_left_in = costs_.left_in.data(), *__restrict to_left_out = costs_.left_out.data(),
                     *__restrict to_right_in = costs_.right_in.data(),
                     *__restrict to_right_out = costs_.right_out.data();
    for (Index p = 0; p < n; ++p) {
      const Index own = shifted[slot[p]] * n + p;
      const Index right = shifted[slot[p + 1]] * n + p;
      const Index next = above[slot[p]] * n + p;
      const Ticks arrives = later(left_in[right], right_in[next] + up);
      const Ticks leaves = later(left_out[own], right_out[own]);
      to_work[p] = work[own];
      to_left_in[p] = left_in[right];
      to_right_in[p] = right_in[next] + up;
      to_left_out[p] = left_out[own];
      to_right_out[p] = right_out[own];
      to_least[p] = rendezvous ? later(arrives, leaves) : never;
    }
  }

  // The costs of a row with m rows of A where all blocks had one of their sizes, (sizes, W). B's blocks come
  // from another row: their latency is left out.
  RowCosts make_table(Index m) const {
    RowCosts table(width() * static_cast<Index>(distinct_.size()));
    for (std::size_t size = 0; size < distinct_.size(); ++size)
      for (Index p = 0; p < width(); ++p) {
        const std::size_t k = size * at(width()) + at(p);
        const Index n = columns_of(p);
        const Ticks left = words(m * distinct_[size]), right = words(distinct_[size] * n);
        table.work[k] = cost_.gemm(m, distinct_[size], n) + device_.background_word * moved(left, right);
        if (x_.moves() && left > 0) table.left_in[k] = x_.latency[at(p)] + left;
        if (y_.moves() && right > 0) table.right_in[k] = right;
        if (waits() && x_.moves() && left > 0) table.left_out[k] = left;
        if (waits() && y_.moves() && right > 0) table.right_out[k] = right;
      }
    return table;
  }
  void make_tables() {
    slots_ = x_.first_slot;
    slots_.push_back(0);
    const std::set<Index> distinct(product_.blocks.begin(), product_.blocks.end());
    distinct_.assign(distinct.begin(), distinct.end());
    for (const Index block : blocks_)
      sizes_.push_back(std::lower_bound(distinct_.begin(), distinct_.end(), block) - distinct_.begin());
    for (Index q = 0; q < y_.size(); ++q) {
      const Index m = rows_of(q);
      if (tables_.count(m) == 0) tables_.emplace(m, make_table(m));
      tables_of_.push_back(&tables_.at(m));
    }
  }
  // Words that the background moves for a core in a step.
  Index moved(Ticks left, Ticks right) const {
    return ((x_.moves() ? left : 0) + (y_.moves() ? right : 0)) / std::max(Ticks{1}, device_.word);
  }

  // All cores advanced by the same: the rest of the steps is that many times more of it.
  bool skip_rest(Index steps) {
    if constexpr (!std::is_same_v<Clock, Ticks>) return false;
    const Ticks advance = time_of(row(now_, 0)[0]) - time_of(row(then_, 0)[0]);
    for (Index q = 0; q < y_.size(); ++q) {
      const bool alike = advanced_alike(row(then_, q), row(now_, q));
      if (!alike || time_of(row(now_, q)[0]) - time_of(row(then_, q)[0]) != advance) return false;
    }
    for (Clock& clock : now_) clock = after(clock, steps * advance);
    return true;
  }

  // Shifts every row of A until its blocks are where the first step wants them. In a round, rows of one
  // height that go the same way cost the same.
  void align() {
    std::map<std::pair<Index, bool>, std::vector<Index>> alike;
    std::vector<Index> rounds;
    for (Index q = 0; q < y_.size(); ++q) {
      const Index forward = y_.first_slot[at(q)];
      const bool is_half = product_.align == Align::half;
      const bool is_forward = is_half ? y_.places[at(q)] % 2 == 1 : forward <= steps_ - forward;
      rounds.push_back(is_half ? width() / 2 : std::min(forward, steps_ - forward));
      alike[{rows_of(q), is_forward}].push_back(q);
      for (Index x = 0; x < width(); ++x)
        execution_.software_ticks()[core(y_.places[at(q)], x)] += rounds.back() * device_.shift;
    }
    for (const auto& [kind, rows] : alike) align_rows(kind.first, kind.second, rows, rounds);
  }
  void align_rows(Index m, bool is_forward, const std::vector<Index>& rows, std::vector<Index>& rounds) {
    Index most = 0;
    for (const Index q : rows) most = std::max(most, rounds[at(q)]);
    AlignCounts counts;
    for (Index round = 0; round < most; ++round) {
      if (round == 0 || !even_) counts = fill_alignment(m, round, is_forward);
      const bool look = even_ && (round & (round + 1)) == 0;
      auto& from = round % 2 == 0 ? now_ : then_;  // the rows take turns
      auto& to = round % 2 == 0 ? then_ : now_;
      for (const Index q : rows) {
        if (round >= rounds[at(q)]) continue;
        close_ring(row(from, q));
        shift_row(row(from, q), row(to, q), costs_,
                  {is_forward ? Index{1} : Index{-1}, device_.shift, width()}, align_hops_);
        Index done = 1;
        if (look && advanced_alike(row(from, q), row(to, q))) {
          done = rounds[at(q)] - round;
          const Ticks advance = time_of(row(to, q)[0]) - time_of(row(from, q)[0]);
          for (Index p = 0; p < width(); ++p) row(to, q)[p] = after(row(to, q)[p], (done - 1) * advance);
          rounds[at(q)] = round + 1;
        }
        execution_.count(done * counts.messages, done * counts.words, done * counts.word_hops,
                         counts.messages > 0 ? x_.longest : 0);
        if (&to == &then_ && round + 1 == rounds[at(q)]) std::copy_n(row(to, q), width(), row(now_, q));
      }
    }
  }

  struct AlignCounts {
    std::int64_t messages = 0, words = 0, word_hops = 0;
  };
  // The transfers of one round, as costs of A's shift alone: a position hands on the front of its queue, or
  // its end.
  AlignCounts fill_alignment(Index m, Index round, bool is_forward) {
    AlignCounts counts;
    const Index n = width();
    const Index* block = blocks_.data() + (is_forward ? round : steps_ - 1 - round);
    const Index* slot = slots_.data() + (is_forward ? 0 : 1);
    const bool rendezvous = waits();
    for (Index p = 0; p < n; ++p) {
      const std::size_t k = at(p);
      const Index sender = is_forward ? (p + 1 == n ? 0 : p + 1) : (p == 0 ? n - 1 : p - 1);
      const std::size_t link = at(is_forward ? p : sender);
      const Index out = cost_.shift_words(m * block[slot[p]]);
      const Index in = cost_.shift_words(m * block[slot[sender]]);
      costs_.left_in[k] = in > 0 ? x_.latency[link] + in * device_.word : never;
      costs_.left_out[k] = out > 0 && rendezvous ? out * device_.word : never;
      costs_.least[k] = rendezvous ? later(costs_.left_in[k], costs_.left_out[k]) : never;
      align_hops_[k] = x_.hops[link];
      counts.messages += in > 0 ? 1 : 0;
      counts.words += in;
      counts.word_hops += in * x_.hops[link];
    }
    return counts;
  }
  bool advanced_alike(const Clock* before, const Clock* now) const {
    if constexpr (!std::is_same_v<Clock, Ticks>) return false;
    const Ticks advance = time_of(now[0]) - time_of(before[0]);
    for (Index p = 1; p < width(); ++p)
      if (time_of(now[p]) - time_of(before[p]) != advance) return false;
    return true;
  }
  // Sums over all steps: every core meets every block once.
  void account() {
    const Index K = std::accumulate(product_.blocks.begin(), product_.blocks.end(), Index{0});
    std::vector<Index> left(product_.rows.size()), right(product_.columns.size());
    Index left_messages = 0, right_messages = 0;
    for (const Index k : product_.blocks) {
      for (std::size_t y = 0; y < left.size(); ++y) {
        left[y] += cost_.shift_words(product_.rows[y] * k);
        left_messages += cost_.shift_words(product_.rows[y] * k) > 0 ? width() : 0;
      }
      for (std::size_t x = 0; x < right.size(); ++x) {
        right[x] += cost_.shift_words(k * product_.columns[x]);
        right_messages += cost_.shift_words(k * product_.columns[x]) > 0 ? y_.size() : 0;
      }
    }
    auto& compute = execution_.compute_ticks();
    auto& software = execution_.software_ticks();
    for (Index y = 0; y < y_.size(); ++y)
      for (Index x = 0; x < width(); ++x) {
        const std::size_t here = core(y, x);
        const Index moved = (x_.moves() ? left[at(y)] : 0) + (y_.moves() ? right[at(x)] : 0);
        const Index m = product_.rows[at(y)], n = product_.columns[at(x)];
        compute[here] += cost_.gemm(m, K, n);
        software[here] += steps_ * post_ + device_.background_word * moved;
      }
    const Index all_left = std::accumulate(left.begin(), left.end(), Index{0});
    const Index all_right = std::accumulate(right.begin(), right.end(), Index{0});
    if (x_.moves())
      execution_.count(left_messages, all_left * width(), all_left * x_.all_hops,
                       all_left > 0 ? x_.longest : 0);
    if (y_.moves())
      execution_.count(right_messages, all_right * y_.size(), all_right * y_.all_hops,
                       all_right > 0 ? y_.longest : 0);
  }

  Execution& execution_;
  const Device& device_;
  const Cost& cost_;
  std::vector<Clock>& clocks_;  // (H, W) in physical order
  const RingProduct& product_;
  mesh::CoreCoord origin_;
  RingLine x_, y_;
  Index steps_;
  std::size_t stride_;
  std::vector<Index> blocks_;               // (2 NB)
  std::vector<Index> distinct_;             // sizes of blocks
  std::vector<Index> slots_;                // (W + 1) first slot of each position; the last is 0 again
  std::vector<std::ptrdiff_t> sizes_;       // (2 NB) index into distinct_
  std::map<Index, RowCosts> tables_;        // by rows of A
  std::vector<const RowCosts*> tables_of_;  // (H) by ring position
  bool even_;
  Ticks post_;
  RowCosts costs_;
  std::vector<Index> align_hops_;  // of the message that position p gets in a round of an alignment
  std::vector<Clock> now_, then_;  // (H, W + 2) in ring order
};

}  // namespace

Index ring_routes(Index cores) { return cores < 2 ? 0 : cores == 2 ? 2 : 3; }

void ring_product(Execution& execution, const mesh::QueuePlan& queues, const RingProduct& product) {
  execution.enter();
  ring_product_in(execution, queues, {0, 0}, product);
}

void ring_product_in(Execution& execution, const mesh::QueuePlan& queues, mesh::CoreCoord origin,
                     const RingProduct& product) {
  WAFER_CHECK(static_cast<Index>(product.blocks.size()) == queues.blocks(), "one size for every block");
  const Index height = queues.y.cores(), width = queues.x.cores();
  execution.compute([&](Index y, Index x) -> Ticks {  // C = 0
    const Index i = y - origin.y, j = x - origin.x;
    if (i < 0 || i >= height || j < 0 || j >= width) return 0;
    return execution.cost().vector(product.rows[at(i)] * product.columns[at(j)]);
  });
  execution.visit([&]<class Clock>(std::vector<Clock>& clocks) {
    Product<Clock>(execution, clocks, queues, origin, product).run();
  });
  execution.use_routes("ring along X", ring_routes(width));
  execution.use_routes("ring along Y", ring_routes(height));
}

}  // namespace wafer::plmr
