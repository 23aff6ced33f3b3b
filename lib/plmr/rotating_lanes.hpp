#pragma once

#include <vector>

#include "plmr/ring_line.hpp"

// The loops of a rotating product over the rows of one column, for rotating_product.cpp: every core's part in
// a step, on all rows at once.
namespace wafer::plmr::lanes {

// A step as all rows see it, in the order of the columns' rings.
struct Step {
  explicit Step(Index rows) : root(at(rows)), words(at(rows)) {}
  std::vector<Ticks> root;   // column of the run where the block stays; -1: the block is dead
  std::vector<Ticks> words;  // ticks of S's block as a stream
};

// What a step costs the columns of one depth, row by row: ticks after a core, or the core that a message
// comes from or goes to, has posted B's shift.
struct DepthCosts {
  DepthCosts(Index columns, Index rows) : depth(columns) {
    for (auto* ticks : {&work, &background, &arrives, &least, &leaves}) ticks->assign(at(rows), never);
  }
  Index depth;
  std::vector<Ticks> work;        // the local product
  std::vector<Ticks> background;  // ... and what B's shift takes from it
  std::vector<Ticks> arrives;     // B's next block
  std::vector<Ticks> least;       // the core's own part in that
  std::vector<Ticks> leaves;      // B's last block
};

// What does not change in a bulk.
struct Fixed {
  Ticks operation, stage, word, neighbour;  // neighbour: latency to the next core of the run
  Ticks shift;                              // 0: B does not move
};

template <class Clock>
struct Column {
  Clock* own;
  Clock* posted;  // when it had posted B's shift
  Clock* first;   // of the streams on their way through the column
  Clock* last;
  Index rows;
  Index x;  // within the run
  const DepthCosts* costs;
};

template <class Clock>
inline __attribute__((always_inline)) Clock pick(bool condition, const Clock& a, const Clock& b) {
  return condition ? a : b;
}

// Posts the shift and multiplies.
template <class Clock>
inline __attribute__((always_inline)) void post_and_work(const Column<Clock>& column, const Fixed& fixed) {
  Clock* __restrict own = column.own;
  Clock* __restrict posted = column.posted;
  const Ticks* work = column.costs->work.data();
  const Ticks* background = column.costs->background.data();
  const Ticks shift = fixed.shift;
  const Index rows = column.rows;
  for (Index q = 0; q < rows; ++q) {
    posted[q] = after(own[q], shift);
    own[q] = after(computed(posted[q], work[q]), background[q]);
  }
}

// The far end of a side of the chain sends.
template <class Clock>
inline __attribute__((always_inline)) void send_first(const Column<Clock>& column, const Step& step,
                                                      const Fixed& fixed) {
  Clock* __restrict own = column.own;
  Clock* __restrict first = column.first;
  Clock* __restrict last = column.last;
  const Ticks* root = step.root.data();
  const Ticks* words = step.words.data();
  const Index rows = column.rows, x = column.x;  // copies: own[q] might be one of the originals
  const Fixed f = fixed;
  for (Index q = 0; q < rows; ++q) {
    first[q] = after(own[q], f.operation);
    last[q] = after(first[q], words[q] - f.word);
    own[q] = pick((root[q] >= 0) & (root[q] != x), after(last[q], f.word), own[q]);
  }
}

// The others receive, combine and send on; the root keeps the result.
template <class Clock>
inline __attribute__((always_inline)) void pass_on(const Column<Clock>& column, const Step& step,
                                                   const Fixed& fixed, bool from_high) {
  Clock* __restrict own = column.own;
  Clock* __restrict first_of = column.first;
  Clock* __restrict last_of = column.last;
  const Ticks* root = step.root.data();
  const Ticks* words = step.words.data();
  const Index rows = column.rows;
  const Fixed f = fixed;
  const Ticks lowest = from_high ? 0 : column.x;  // roots whose side this column is on
  const Ticks highest = from_high ? column.x : Ticks{1} << 40;
  for (Index q = 0; q < rows; ++q) {
    const bool takes_part = (root[q] >= lowest) & (root[q] <= highest);
    const Clock first =
        staged(later(after(own[q], f.operation), travelled(first_of[q], f.neighbour, 1)), f.stage);
    const Clock last =
        later(after(first, words[q] - f.word), staged(travelled(last_of[q], f.neighbour, 1), f.stage));
    first_of[q] = pick(takes_part, first, first_of[q]);
    last_of[q] = pick(takes_part, last, last_of[q]);
    own[q] = pick(takes_part, after(last, f.word), own[q]);
  }
}

// Receives the block of S that its owner multicasts, from either side, and multiplies. `hop` and `latency`
// are of the device.
template <class Clock>
inline __attribute__((always_inline)) void receive_and_work(const Column<Clock>& column, const Step& step,
                                                            const Fixed& fixed, Ticks latency, Ticks hop) {
  Clock* __restrict own = column.own;
  const Clock *first_of = column.first, *last_of = column.last;
  const Ticks *root = step.root.data(), *words = step.words.data();
  const Ticks *work = column.costs->work.data(), *background = column.costs->background.data();
  const Ticks x = column.x, operation = fixed.operation, word = fixed.word;
  const Index rows = column.rows;
  for (Index q = 0; q < rows; ++q) {
    const bool is_above = x > root[q];
    const bool takes_part = (root[q] >= 0) & (root[q] != x);
    const Ticks hops = is_above ? x - root[q] : root[q] - x;
    const Clock last = pick(is_above, first_of[q], last_of[q]);
    const Clock got =
        later(after(own[q], operation + words[q]), after(travelled(last, latency + hops * hop, hops), word));
    own[q] = after(computed(pick(takes_part, got, own[q]), work[q]), background[q]);
  }
}

// Until B's next block is here and the last one has left.
template <class Clock>
inline __attribute__((always_inline)) void wait_for_shift(const Column<Clock>& column, const RingLine& y) {
  if (!y.moves()) return;
  Clock* __restrict own = column.own;
  const Clock* posted = column.posted;
  const Ticks* arrives = column.costs->arrives.data();
  const Ticks* least = column.costs->least.data();
  const Ticks* leaves = column.costs->leaves.data();
  const Index* hops = y.hops.data();
  const auto wait = [&](Index q, const Clock& sender, const Clock& receiver) {
    Clock time = later(own[q], travelled(sender, arrives[q], hops[q]));
    time = later(time, after(posted[q], least[q]));
    own[q] = later(time, after(receiver, leaves[q]));
  };
  const Index end = column.rows - 1;
  wait(0, posted[end == 0 ? 0 : 1], posted[end]);
  for (Index q = 1; q < end; ++q) wait(q, posted[q + 1], posted[q - 1]);
  if (end > 0) wait(end, posted[0], posted[end - 1]);
}

// The core's part in a step on the way from the highest column of the run to the lowest: up to the high side
// of the chain; and back: the low side, and the wait.
template <class Clock>
inline __attribute__((always_inline)) void go_down(const Column<Clock>& column, const Step& step,
                                                   const Fixed& fixed, Index width) {
  post_and_work(column, fixed);
  if (width == 1) return;
  if (column.x == width - 1)
    send_first(column, step, fixed);
  else
    pass_on(column, step, fixed, true);
}
template <class Clock>
inline __attribute__((always_inline)) void go_up(const Column<Clock>& column, const Step& step,
                                                 const Fixed& fixed, Index width, const RingLine& y) {
  if (width > 1 && column.x == 0) send_first(column, step, fixed);
  if (width > 1 && column.x > 0) pass_on(column, step, fixed, false);
  wait_for_shift(column, y);
}

}  // namespace wafer::plmr::lanes
