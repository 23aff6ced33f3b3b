#include "plmr/ring_rows.hpp"

#include <algorithm>

#include "core/vector_clones.hpp"

namespace wafer::plmr {

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

namespace {

template <bool rendezvous>
inline __attribute__((always_inline)) void step_pairs(const Rows<Narrow>& rows, const PairCosts& costs,
                                                      const LargeBlocks& large, const PairStep& step,
                                                      Narrow* __restrict out, Index width) {
  const Narrow *own = rows.own, *next = rows.next, *before = rows.before;
  const Narrow *work = costs.small.work.data(), *more_work = costs.more.work.data();
  const Narrow *left_in = costs.small.left_in.data(), *more_left_in = costs.more.left_in.data();
  const Narrow *left_out = costs.small.left_out.data(), *more_left_out = costs.more.left_out.data();
  const Narrow *right_in = costs.small.right_in.data(), *more_right_in = costs.more.right_in.data();
  const Narrow *right_out = costs.small.right_out.data(), *more_right_out = costs.more.right_out.data();
  const Narrow *large_own = large.own, *large_next = large.next;
  const Narrow up = step.up, post = step.post;
  for (Index p = 0; p < width; ++p) {
    const Narrow mine = large_own[p];
    const Narrow here = rendezvous ? own[p] : narrow_never;  // since when its own part of a transfer can run
    Narrow time = own[p] + work[p] + (more_work[p] & mine);
    time = std::max(time, std::max(here, own[p + 1]) + left_in[p] + (more_left_in[p] & large_own[p + 1]));
    time = std::max(time, std::max(here, own[p - 1]) + left_out[p] + (more_left_out[p] & mine));
    time = std::max(time, std::max(here, next[p]) + up + right_in[p] + (more_right_in[p] & large_next[p]));
    time = std::max(time, std::max(here, before[p]) + right_out[p] + (more_right_out[p] & mine));
    out[p] = time + post;
  }
}

}  // namespace

WAFER_VECTOR_CLONES void step_row(const Rows<Narrow>& rows, const PairCosts& costs, const LargeBlocks& large,
                                  const PairStep& step) {
  if (step.rendezvous)
    step_pairs<true>(rows, costs, large, step, rows.out, step.width);
  else
    step_pairs<false>(rows, costs, large, step, rows.out, step.width);
}

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

namespace {

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

}  // namespace

WAFER_VECTOR_CLONES void shift_row(const Ticks* own, Ticks* out, const RowCosts& costs, const Round& round,
                                   const std::vector<Index>& hops) {
  shift_positions<Ticks>(own, out, costs, round, hops.data());
}
void shift_row(const Trace* own, Trace* out, const RowCosts& costs, const Round& round,
               const std::vector<Index>& hops) {
  shift_positions<Trace>(own, out, costs, round, hops.data());
}

}  // namespace wafer::plmr
