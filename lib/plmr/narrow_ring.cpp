#include "plmr/narrow_ring.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace wafer::plmr {

namespace {

Narrow to_narrow(Ticks cost) { return cost == never ? narrow_never : static_cast<Narrow>(cost); }

constexpr std::array kinds = {
    std::pair(&RowCosts::work, &PairCosts::Row::work),
    std::pair(&RowCosts::left_in, &PairCosts::Row::left_in),
    std::pair(&RowCosts::left_out, &PairCosts::Row::left_out),
    std::pair(&RowCosts::right_in, &PairCosts::Row::right_in),
    std::pair(&RowCosts::right_out, &PairCosts::Row::right_out),
};

PairCosts make_pair(const RowCosts& table) {
  PairCosts pair;
  const std::size_t width = table.work.size() / 2;
  for (const auto& [wide, narrow] : kinds)
    for (std::size_t p = 0; p < width; ++p) {
      const Narrow small = to_narrow((table.*wide)[p]);
      (pair.small.*narrow).push_back(small);
      (pair.more.*narrow).push_back(to_narrow((table.*wide)[p + width]) - small);
    }
  return pair;
}

class NarrowSteps {
public:
  explicit NarrowSteps(const NarrowRing& ring)
      : ring_(ring),
        width_(ring.x.size()),
        height_(ring.y.size()),
        stride_(at(width_ + 2)),
        now_(at(height_) * stride_),
        then_(now_.size()) {
    for (const std::ptrdiff_t size : ring.sizes) large_.push_back(static_cast<Narrow>(-size));
    large_own_.resize(ring.slots.size());
    large_next_.resize(ring.slots.size());
  }

  // The most by which a step can advance the latest clock.
  Ticks longest_step() const {
    Ticks most = 0;
    for (const RowCosts* table : ring_.tables)
      for (const auto& kind : kinds)
        for (const Ticks cost : table->*kind.first) most = std::max(most, cost);
    return most + *std::max_element(ring_.y.latency.begin(), ring_.y.latency.end()) + ring_.post;
  }
  void make_tables() {
    for (const RowCosts* table : ring_.tables) {
      if (pairs_.count(table) == 0) pairs_.emplace(table, make_pair(*table));
      pairs_of_.push_back(&pairs_.at(table));
    }
  }

  void fetch(const std::vector<Ticks>& clocks, Ticks base) {
    for_cores([&](std::size_t core) { now_[core] = static_cast<Narrow>(clocks[core] - base); });
  }
  void store(std::vector<Ticks>& clocks, Ticks base) const {
    for_cores([&](std::size_t core) { clocks[core] = base + now_[core]; });
  }
  template <class F>
  void for_cores(F f) const {
    for (std::size_t q = 0; q < at(height_); ++q)
      for (std::size_t p = 1; p <= at(width_); ++p) f(q * stride_ + p);
  }

  void step(Index t) {
    for (Index q = 0; q < height_; ++q) {
      Narrow* own = row(now_, q);
      own[-1] = own[width_ - 1];
      own[width_] = own[0];
    }
    for (Index q = 0; q < height_; ++q)
      step_row({row(now_, q), row(now_, q + 1), row(now_, q - 1), row(then_, q)}, *pairs_of_[at(q)],
               {large_blocks(q, t, large_own_), large_blocks((q + 1) % height_, t, large_next_)},
               {static_cast<Narrow>(ring_.post), static_cast<Narrow>(ring_.y.latency[at(q)]),
                ring_.rendezvous, width_});
    now_.swap(then_);
  }

private:
  Narrow* row(std::vector<Narrow>& clocks, Index q) const {
    return clocks.data() + at(wrap(q, height_)) * stride_ + 1;
  }
  // Which of row q's blocks at hand are large at step t.
  const Narrow* large_blocks(Index q, Index t, std::vector<Narrow>& memory) const {
    const Narrow* from = large_.data() + wrap(ring_.y.first_slot[at(q)] + t, ring_.steps);
    if (width_ == ring_.steps) return from;  // one slot a position
    for (std::size_t p = 0; p < ring_.slots.size(); ++p) memory[p] = from[ring_.slots[p]];
    return memory.data();
  }

  const NarrowRing& ring_;
  Index width_, height_;
  std::size_t stride_;
  std::map<const RowCosts*, PairCosts> pairs_;
  std::vector<const PairCosts*> pairs_of_;      // (H)
  std::vector<Narrow> large_;                   // (2 steps)
  std::vector<Narrow> large_own_, large_next_;  // (W + 1)
  std::vector<Narrow> now_, then_;              // (H, W + 2)
};

}  // namespace

Index run_narrow(const NarrowRing& ring, std::vector<Ticks>& clocks) {
  NarrowSteps narrow(ring);
  const Ticks longest = std::max(Ticks{1}, narrow.longest_step());
  if (longest >= narrow_end) return 0;
  narrow.make_tables();
  Index done = 0;
  while (done < ring.steps) {
    Ticks first = clocks[1], last = clocks[1];
    narrow.for_cores([&](std::size_t core) {
      first = std::min(first, clocks[core]);
      last = std::max(last, clocks[core]);
    });
    const Index some = std::min(ring.steps - done, (narrow_end - 1 - (last - first)) / longest);
    if (some < 1) break;
    narrow.fetch(clocks, first);
    for (Index t = done; t < done + some; ++t) narrow.step(t);
    narrow.store(clocks, first);
    done += some;
  }
  return done;
}

}  // namespace wafer::plmr
