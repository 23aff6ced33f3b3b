#include "plmr/ring_product.hpp"

#include <algorithm>
#include <numeric>

#include "core/error.hpp"
#include "core/vector_clones.hpp"
#include "plmr/ring_line.hpp"

namespace wafer::plmr {

using mesh::Axis;

namespace {

// What a step costs the cores of one row, by ring position: ticks after the core itself, or the core that a
// message comes from or goes to, has posted its shifts.
struct RowCosts {
  explicit RowCosts(Index width) {
    for (auto* ticks : {&work, &least, &left_in, &left_out, &right_in, &right_out})
      ticks->assign(at(width), never);
  }
  std::vector<Ticks> work;       // the local product
  std::vector<Ticks> least;      // the core's own part in its four transfers
  std::vector<Ticks> left_in;    // A's block, from position p + 1
  std::vector<Ticks> left_out;   // ... to position p - 1
  std::vector<Ticks> right_in;   // B's block, from the next row
  std::vector<Ticks> right_out;  // ... to the row before
};

// Clocks of a row and of the rows that it exchanges blocks with; positions -1 and W may be read.
template <class Clock>
struct Rows {
  const Clock* own;
  const Clock* next;
  const Clock* before;
  Clock* out;
};

WAFER_VECTOR_CLONES void step_row(const Rows<Ticks>& rows, const RowCosts& costs, Ticks post, Index width) {
  const Ticks* own = rows.own;
  const Ticks* next = rows.next;
  const Ticks* before = rows.before;
  Ticks* __restrict out = rows.out;  // so that the compiler need not expect that it overlaps the others
  const Ticks* work = costs.work.data();
  const Ticks* least = costs.least.data();
  const Ticks* left_in = costs.left_in.data();
  const Ticks* left_out = costs.left_out.data();
  const Ticks* right_in = costs.right_in.data();
  const Ticks* right_out = costs.right_out.data();
  for (Index p = 0; p < width; ++p) {
    Ticks time = later(own[p] + work[p], own[p] + least[p]);
    time = later(time, own[p + 1] + left_in[p]);
    time = later(time, own[p - 1] + left_out[p]);
    time = later(time, next[p] + right_in[p]);
    time = later(time, before[p] + right_out[p]);
    out[p] = time + post;
  }
}

struct RingHops {
  const std::vector<Index>& x;
  Index y = 0;
};

void step_row(const Rows<Trace>& rows, const RowCosts& costs, Ticks post, Index width, const RingHops& hops) {
  for (Index p = 0; p < width; ++p) {
    const std::size_t k = at(p);
    Trace time = computed(rows.own[p], costs.work[k]);
    time = later(time, after(rows.own[p], costs.least[k]));
    time = later(time, travelled(rows.own[p + 1], costs.left_in[k], hops.x[k]));
    time = later(time, after(rows.own[p - 1], costs.left_out[k]));
    time = later(time, travelled(rows.next[p], costs.right_in[k], hops.y));
    time = later(time, after(rows.before[p], costs.right_out[k]));
    rows.out[p] = after(time, post);
  }
}

// One round of an alignment: blocks come from position p + from.
struct Round {
  Index from;
  Ticks post;
  Index width;
};

template <class Clock>
inline __attribute__((always_inline)) void shift_positions(const Clock* own, Clock* __restrict out,
                                                           const RowCosts& costs, const Round& round,
                                                           const Index* hops) {
  const Clock* sender = own + round.from;
  const Clock* receiver = own - round.from;
  const Ticks* least = costs.least.data();
  const Ticks* in = costs.left_in.data();
  const Ticks* sent = costs.left_out.data();
  for (Index p = 0; p < round.width; ++p) {
    Clock time = later(own[p], after(own[p], least[p]));
    time = later(time, travelled(sender[p], in[p], hops[p]));
    time = later(time, after(receiver[p], sent[p]));
    out[p] = after(time, round.post);
  }
}
WAFER_VECTOR_CLONES void shift_row(const Ticks* own, Ticks* out, const RowCosts& costs, const Round& round,
                                   const std::vector<Index>& hops) {
  shift_positions<Ticks>(own, out, costs, round, hops.data());
}
void shift_row(const Trace* own, Trace* out, const RowCosts& costs, const Round& round,
               const std::vector<Index>& hops) {
  shift_positions<Trace>(own, out, costs, round, hops.data());
}

template <class Clock>
class Product {
public:
  Product(Execution& execution, std::vector<Clock>& clocks, const mesh::QueuePlan& queues,
          const RingProduct& product)
      : execution_(execution),
        device_(execution.device()),
        cost_(execution.cost()),
        clocks_(clocks),
        product_(product),
        x_(device_, queues.x, Axis::x),
        y_(device_, queues.y, Axis::y),
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
    fetch();
    if (product_.align != Align::none && x_.moves())
      for (Index q = 0; q < y_.size(); ++q) align(q);
    for (Index t = 0; t < steps_; ++t) {
      step(t);
      const bool look = even_ && (t & (t + 1)) == 0;  // after 1, 2, 4, 8 steps ...
      if (look && skip_rest(steps_ - 1 - t)) break;
    }
    store();
    account();
  }

private:
  Index width() const { return x_.size(); }
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
      for (Index p = 0; p < width(); ++p)
        row(now_, q)[p] = clocks_[at(y_.places[at(q)] * width() + x_.places[at(p)])];
  }
  void store() {
    for (Index q = 0; q < y_.size(); ++q)
      for (Index p = 0; p < width(); ++p)
        clocks_[at(y_.places[at(q)] * width() + x_.places[at(p)])] = row(now_, q)[p];
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
      if (!even_ || filled_for != rows_of(q) || latency != y_.latency[at(q)]) fill(q, t);
      filled_for = rows_of(q);
      latency = y_.latency[at(q)];
      const Rows<Clock> rows{row(now_, q), row(now_, q + 1), row(now_, q - 1), row(then_, q)};
      if constexpr (std::is_same_v<Clock, Ticks>)
        step_row(rows, costs_, post_, width());
      else
        step_row(rows, costs_, post_, width(), {x_.hops, y_.hops[at(q)]});
    }
    now_.swap(then_);
  }

  void fill(Index q, Index t) {
    const Index m = rows_of(q);
    const Index shift = wrap(y_.first_slot[at(q)] + t, steps_);
    const Index next_shift = wrap(y_.first_slot[at((q + 1) % y_.size())] + t, steps_);
    const Ticks axpy = m == 0 ? 0 : cost_.axpy(m);
    for (Index p = 0; p < width(); ++p) {
      const std::size_t k = at(p);
      const Index n = columns_of(p);
      const Index block = blocks_[at(x_.first_slot[k] + shift)];
      const Index right = blocks_[at(x_.first_slot[at(p + 1 == width() ? 0 : p + 1)] + shift)];
      const Index above = blocks_[at(x_.first_slot[k] + next_shift)];
      const Ticks left_out = words(m * block), left_in = words(m * right);
      const Ticks right_out = words(block * n), right_in = words(above * n);
      costs_.work[k] = (m == 0 || n == 0 ? 0 : block * (device_.loop + n * axpy)) +
                       device_.background_word * moved(left_out, right_out);
      const Ticks left = x_.moves() && left_in > 0 ? x_.latency[k] + left_in : never;
      const Ticks right_ticks = y_.moves() && right_in > 0 ? y_.latency[at(q)] + right_in : never;
      costs_.left_in[k] = left;
      costs_.right_in[k] = right_ticks;
      costs_.left_out[k] = waits() && x_.moves() && left_out > 0 ? left_out : never;
      costs_.right_out[k] = waits() && y_.moves() && right_out > 0 ? right_out : never;
      costs_.least[k] =
          waits() ? std::max({left, right_ticks, costs_.left_out[k], costs_.right_out[k]}) : never;
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

  // Shifts one row of A until its blocks are where the first step wants them.
  void align(Index q) {
    const Index forward = y_.first_slot[at(q)];
    const bool is_half = product_.align == Align::half;
    const bool is_forward = is_half ? y_.places[at(q)] % 2 == 1 : forward <= steps_ - forward;
    const Index rounds = is_half ? width() / 2 : std::min(forward, steps_ - forward);
    const std::size_t start = at(q) * stride_;
    Clock* own = now_.data() + start + 1;  // the two rows take turns
    Clock* next = then_.data() + start + 1;
    AlignCounts counts;
    for (Index round = 0; round < rounds; ++round) {
      if (round == 0 || !even_) counts = fill_alignment(rows_of(q), round, is_forward);
      close_ring(own);
      shift_row(own, next, costs_, {is_forward ? Index{1} : Index{-1}, device_.shift, width()}, align_hops_);
      Index done = 1;
      if (even_ && (round & (round + 1)) == 0 && advanced_alike(own, next)) {
        done = rounds - round;
        const Ticks advance = time_of(next[0]) - time_of(own[0]);
        for (Index p = 0; p < width(); ++p) next[p] = after(next[p], (done - 1) * advance);
      }
      std::swap(own, next);
      execution_.count(done * counts.messages, done * counts.words, done * counts.word_hops,
                       counts.messages > 0 ? x_.longest : 0);
      round += done - 1;
    }
    if (own != now_.data() + start + 1) std::copy_n(own, width(), now_.data() + start + 1);
    for (Index x = 0; x < width(); ++x)
      execution_.software_ticks()[at(y_.places[at(q)] * width() + x)] += rounds * device_.shift;
  }

  struct AlignCounts {
    std::int64_t messages = 0, words = 0, word_hops = 0;
  };
  // The transfers of one round, as costs of A's shift alone.
  AlignCounts fill_alignment(Index m, Index round, bool is_forward) {
    AlignCounts counts;
    for (Index p = 0; p < width(); ++p) {
      const std::size_t k = at(p);
      const Index sender = wrap(is_forward ? p + 1 : p - 1, width());
      const std::size_t link = at(is_forward ? p : sender);
      const Index out = shift_words(m, p, round, is_forward);
      const Index in = shift_words(m, sender, round, is_forward);
      costs_.left_in[k] = in > 0 ? x_.latency[link] + in * device_.word : never;
      costs_.left_out[k] = out > 0 && waits() ? out * device_.word : never;
      costs_.least[k] = waits() ? std::max(costs_.left_in[k], costs_.left_out[k]) : never;
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
  // Of the block that position p hands on in a round: the front of its queue, or its end.
  Index shift_words(Index m, Index p, Index round, bool is_forward) const {
    const Index front = x_.first_slot[at(p)];
    const Index behind = p + 1 == width() ? steps_ : x_.first_slot[at(p + 1)];
    const Index block = is_forward ? front + round : behind - 1 - round;
    return cost_.shift_words(m * blocks_[at(wrap(block, steps_))]);
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
        const std::size_t core = at(y * width() + x);
        const Index moved = (x_.moves() ? left[at(y)] : 0) + (y_.moves() ? right[at(x)] : 0);
        const Index m = product_.rows[at(y)], n = product_.columns[at(x)];
        compute[core] += cost_.gemm(m, K, n);
        software[core] += steps_ * post_ + device_.background_word * moved;
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
  RingLine x_, y_;
  Index steps_;
  std::size_t stride_;
  std::vector<Index> blocks_;  // (2 NB)
  bool even_;
  Ticks post_;
  RowCosts costs_;
  std::vector<Index> align_hops_;  // of the message that position p gets in a round of an alignment
  std::vector<Clock> now_, then_;  // (H, W + 2) in ring order
};

}  // namespace

Index ring_routes(Index cores) { return cores < 2 ? 0 : cores == 2 ? 2 : 3; }

void ring_product(Execution& execution, const mesh::QueuePlan& queues, const RingProduct& product) {
  WAFER_CHECK(static_cast<Index>(product.blocks.size()) == queues.blocks(), "one size for every block");
  const auto& rows = product.rows;
  const auto& columns = product.columns;
  execution.enter();
  execution.compute(
      [&](Index y, Index x) { return execution.cost().vector(rows[at(y)] * columns[at(x)]); });  // C = 0
  execution.visit([&]<class Clock>(std::vector<Clock>& clocks) {
    Product<Clock>(execution, clocks, queues, product).run();
  });
  execution.use_routes("ring along X", ring_routes(execution.mesh().width));
  execution.use_routes("ring along Y", ring_routes(execution.mesh().height));
}

}  // namespace wafer::plmr
