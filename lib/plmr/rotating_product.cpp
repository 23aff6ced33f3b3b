#include "plmr/rotating_product.hpp"

#include <algorithm>
#include <set>

#include "core/vector_clones.hpp"
#include "plmr/line_reduction.hpp"
#include "plmr/ring_line.hpp"
#include "plmr/ring_product.hpp"
#include "plmr/rotating_lanes.hpp"

namespace wafer::plmr {

using mesh::Axis;
using namespace lanes;

namespace {

// Loops over Ticks are made for several vector units.
WAFER_VECTOR_CLONES void down_ticks(const Column<Ticks>& column, const Step& step, const Fixed& fixed,
                                    Index width) {
  go_down<Ticks>(column, step, fixed, width);
}
WAFER_VECTOR_CLONES void up_ticks(const Column<Ticks>& column, const Step& step, const Fixed& fixed,
                                  Index width, const RingLine& y) {
  go_up<Ticks>(column, step, fixed, width, y);
}
WAFER_VECTOR_CLONES void post_ticks(Ticks* __restrict own, Ticks* __restrict posted, Ticks shift,
                                    Index rows) {
  for (Index q = 0; q < rows; ++q) own[q] = posted[q] = own[q] + shift;
}
WAFER_VECTOR_CLONES void receive_ticks(const Column<Ticks>& column, const Step& step, const Fixed& fixed,
                                       Ticks latency, Ticks hop) {
  receive_and_work<Ticks>(column, step, fixed, latency, hop);
}
WAFER_VECTOR_CLONES void wait_ticks(const Column<Ticks>& column, const RingLine& y) {
  wait_for_shift<Ticks>(column, y);
}

template <class Clock>
class Rotation {
public:
  Rotation(Execution& execution, std::vector<Clock>& clocks, const mesh::QueuePlan& queues,
           const RotatingProduct& product)
      : execution_(execution),
        device_(execution.device()),
        cost_(execution.cost()),
        clocks_(clocks),
        queues_(queues),
        product_(product),
        y_(device_, queues.y, Axis::y),
        height_(y_.size()),
        width_(product.run.size()),
        fixed_{device_.operation, device_.stage, device_.word, device_.latency(Axis::x, 0, 1),
               y_.moves() ? device_.shift : 0},
        step_(height_),
        own_(at(width_ * height_)),
        posted_(own_.size()),
        first_(at(height_)),
        last_(at(height_)) {
    for (const Index depth : std::set<Index>(product.depth.begin(), product.depth.end()))
      depths_.emplace_back(depth, height_);
    account_ = Account(height_, width_, depths_.size());
    for (Index j = 0; j < width_; ++j) {
      const auto is_its = [&](const DepthCosts& costs) { return costs.depth == product.depth[at(j)]; };
      depth_of_.push_back(std::find_if(depths_.begin(), depths_.end(), is_its) - depths_.begin());
      for (Index q = 0; q < height_; ++q) column(j).own[q] = clocks_[core(j, q)];
    }
  }

  void scores() {
    for (Index t = 0; t < queues_.blocks(); ++t) {
      prepare(t, true);
      for (Index j = width_ - 1; j >= 0; --j)
        if constexpr (std::is_same_v<Clock, Ticks>)
          down_ticks(column(j), step_, fixed_, width_);
        else
          go_down(column(j), step_, fixed_, width_);
      for (Index j = 0; j < width_; ++j)
        if constexpr (std::is_same_v<Clock, Ticks>)
          up_ticks(column(j), step_, fixed_, width_, y_);
        else
          go_up(column(j), step_, fixed_, width_, y_);
    }
    store(true);
  }

  void values() {
    for (Index t = 0; t < queues_.blocks(); ++t) {
      prepare(t, false);
      for (Index j = 0; j < width_; ++j) post(column(j));
      if (width_ > 1) send_scores();
      for (Index j = 0; j < width_; ++j) {
        if constexpr (std::is_same_v<Clock, Ticks>) {
          receive_ticks(column(j), step_, fixed_, device_.latency(), device_.hop);
          wait_ticks(column(j), y_);
        } else {
          receive_and_work(column(j), step_, fixed_, device_.latency(), device_.hop);
          wait_for_shift(column(j), y_);
        }
      }
    }
    store(false);
  }

private:
  // Sums over the steps, so that the loops over all cores need not count.
  struct Account {
    Account() = default;
    Account(Index height, Index width, std::size_t depths)
        : work(depths * at(height)), streams(at(height * width)), words(at(height * width)) {}
    std::vector<Ticks> work;            // (depths, H)
    std::vector<Ticks> streams, words;  // (H, width) of the blocks whose root is a column: number, ticks
    std::int64_t messages = 0, stream_words = 0;
    Index longest = 0;
  };

  std::size_t core(Index j, Index q) const {  // in the execution's order
    return at(y_.places[at(q)] * execution_.mesh().width + product_.run.begin + j);
  }
  Column<Clock> column(Index j) {
    return {
        own_.data() + j * height_,     posted_.data() + j * height_, first_.data(), last_.data(), height_, j,
        &depths_[at(depth_of_[at(j)])]};
  }

  void prepare(Index t, bool is_scores) {
    for (Index q = 0; q < height_; ++q) {
      const std::size_t k = at(q);
      const Index y = y_.places[k];
      const Index block = wrap(y_.first_slot[k] + t, queues_.blocks());
      const Index next = wrap(y_.first_slot[at((q + 1) % height_)] + t, queues_.blocks());
      const Index m = product_.rows[at(y)], n = product_.blocks[at(block)], heads = product_.heads;
      const bool alive = m > 0 && n > 0 && (!product_.alive || product_.alive(y, block));
      step_.root[k] = alive ? queues_.x.place_of_block(block) : -1;
      const Index words = alive ? cost_.stream_words(heads * m * n) : 0;
      step_.words[k] = words * device_.word;
      for (std::size_t d = 0; d < depths_.size(); ++d) {
        DepthCosts& costs = depths_[d];
        const Index depth = costs.depth;
        const Ticks work = is_scores ? cost_.vector(heads * m * n) + heads * cost_.gemm(m, depth, n)
                                     : heads * cost_.gemm(m, n, depth);
        costs.work[k] = alive ? work : 0;
        account_.work[d * at(height_) + k] += costs.work[k];
        fill_shift(costs, k, heads * n * depth, heads * product_.blocks[at(next)] * depth);
      }
      if (!alive || width_ == 1) continue;
      const std::size_t at_root = at(q * width_ + step_.root[k]);
      ++account_.streams[at_root];
      account_.words[at_root] += step_.words[k];
      account_.messages +=
          is_scores ? width_ - 1 : (step_.root[k] > 0 ? 1 : 0) + (step_.root[k] + 1 < width_ ? 1 : 0);
      account_.stream_words += words * (width_ - 1);
      const Index reach = is_scores ? 1 : std::max(step_.root[k], width_ - 1 - step_.root[k]);
      account_.longest = std::max(account_.longest, reach);
    }
  }

  // B's shift at one row: elements handed on, and got.
  void fill_shift(DepthCosts& costs, std::size_t q, Index sends, Index gets) const {
    const bool rendezvous = device_.channel == Channel::rendezvous;
    const Ticks sent = cost_.shift_words(sends) * device_.word, got = cost_.shift_words(gets) * device_.word;
    costs.background[q] = y_.moves() ? device_.background_word * cost_.shift_words(sends) : 0;
    costs.arrives[q] = got > 0 ? y_.latency[q] + got : never;
    costs.leaves[q] = rendezvous && sent > 0 ? sent : never;
    costs.least[q] = rendezvous ? std::max(costs.arrives[q], costs.leaves[q]) : never;
  }

  void post(const Column<Clock>& column) {
    if constexpr (std::is_same_v<Clock, Ticks>)
      return post_ticks(column.own, column.posted, fixed_.shift, height_);
    for (Index q = 0; q < height_; ++q) column.own[q] = column.posted[q] = after(column.own[q], fixed_.shift);
  }

  // The owner of each row's block sends it to the higher columns, then to the lower ones; first_ and last_
  // are when the last word left.
  void send_scores() {
    for (Index q = 0; q < height_; ++q) {
      const Index root = step_.root[at(q)];
      if (root < 0) continue;
      Clock& own = column(root).own[q];
      const auto send = [&](Clock& last) {
        last = after(own, device_.operation + step_.words[at(q)] - device_.word);
        own = after(last, device_.word);
      };
      if (root + 1 < width_) send(first_[at(q)]);
      if (root > 0) send(last_[at(q)]);
    }
  }

  void store(bool is_scores) {
    for (Index j = 0; j < width_; ++j)
      for (Index q = 0; q < height_; ++q) clocks_[core(j, q)] = column(j).own[q];
    charge_cores(is_scores);
    std::int64_t shift_words = 0, blocks_sent = 0;
    for (Index j = 0; j < width_; ++j)
      for (const Index n : product_.blocks) {
        const Index words = cost_.shift_words(product_.heads * n * product_.depth[at(j)]);
        shift_words += words;
        blocks_sent += words > 0 ? 1 : 0;
      }
    execution_.count(account_.messages, account_.stream_words, account_.stream_words, account_.longest);
    if (y_.moves())
      execution_.count(blocks_sent * height_, shift_words * height_, shift_words * y_.all_hops,
                       blocks_sent > 0 ? y_.longest : 0);
  }

  // What every core computed and how long it handled messages.
  void charge_cores(bool is_scores) {
    for (Index j = 0; j < width_; ++j) {
      Ticks moving = queues_.blocks() * fixed_.shift;
      for (const Index n : product_.blocks)
        if (y_.moves())
          moving += device_.background_word * cost_.shift_words(product_.heads * n * product_.depth[at(j)]);
      for (Index q = 0; q < height_; ++q) {
        execution_.compute_ticks()[core(j, q)] += account_.work[at(depth_of_[at(j)] * height_ + q)];
        execution_.software_ticks()[core(j, q)] += moving;
      }
    }
    for (Index q = 0; q < height_ && width_ > 1; ++q) charge_streams(q, is_scores);
  }
  // Every column handles the streams of every block once, the block's root those of its two sides; in a chain
  // each is a stage but for the two ends, which start it.
  void charge_streams(Index q, bool is_scores) {
    Ticks streams = 0, words = 0;
    for (Index root = 0; root < width_; ++root) {
      streams += account_.streams[at(q * width_ + root)];
      words += account_.words[at(q * width_ + root)];
    }
    for (Index j = 0; j < width_; ++j) {
      const Ticks as_root = account_.streams[at(q * width_ + j)];
      const bool is_end = j == 0 || j + 1 == width_;
      Ticks software = streams * device_.operation + words;
      Ticks stages = is_end ? as_root : streams;
      if (!is_end) {
        software += as_root * device_.operation + account_.words[at(q * width_ + j)];
        stages += as_root;
      }
      if (is_scores) software += stages * device_.stage;
      execution_.software_ticks()[core(j, q)] += software;
    }
  }

  Execution& execution_;
  const Device& device_;
  const Cost& cost_;
  std::vector<Clock>& clocks_;
  const mesh::QueuePlan& queues_;
  const RotatingProduct& product_;
  RingLine y_;
  Index height_;
  Index width_;
  Fixed fixed_;
  Step step_;
  std::vector<DepthCosts> depths_;
  std::vector<Index> depth_of_;  // (columns of the run) index into depths_
  Account account_;
  std::vector<Clock> own_, posted_;  // (columns of the run, rows in ring order)
  std::vector<Clock> first_, last_;  // (rows) of the streams on their way
};

template <class Run>
void rotate(Execution& execution, const mesh::QueuePlan& queues, const RotatingProduct& product, Run run) {
  execution.visit([&]<class Clock>(std::vector<Clock>& clocks) {
    Rotation<Clock> rotation(execution, clocks, queues, product);
    run(rotation);
  });
  execution.use_routes("ring along Y", ring_routes(execution.mesh().height));
}

}  // namespace

void scores_product(Execution& execution, const mesh::QueuePlan& queues, const RotatingProduct& product) {
  rotate(execution, queues, product, [](auto& rotation) { rotation.scores(); });
  if (product.run.size() > 1) execution.use_routes("reduction along X", 2);
}

void values_product(Execution& execution, const mesh::QueuePlan& queues, const RotatingProduct& product) {
  rotate(execution, queues, product, [](auto& rotation) { rotation.values(); });
  if (product.run.size() > 1) execution.use_routes("multicast along X", 2);
}

}  // namespace wafer::plmr
