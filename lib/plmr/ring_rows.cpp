#include "plmr/ring_rows.hpp"

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
