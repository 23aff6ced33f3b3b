#pragma once

#include <cstdint>
#include <vector>

#include "plmr/device.hpp"

// The loops of a MeshGEMM over the positions of one row, for ring_product.cpp.
namespace wafer::plmr {

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

// Ticks since some clock of the product's, for as long as all of them fit: twice as many in a vector. Clocks
// and costs are from 0 to below `narrow_end`; a sum with `narrow_never` is below 0, and three of them fit.
using Narrow = std::int32_t;
inline constexpr Narrow narrow_end = 1 << 29;
inline constexpr Narrow narrow_never = -narrow_end;

// The same where blocks come in two sizes: what the smaller one costs, and what the larger one adds.
struct PairCosts {
  struct Row {
    std::vector<Narrow> work, left_in, left_out, right_in, right_out;
  };
  Row small;
  Row more;
};

// Which of the blocks at hand are of the larger size, by ring position: all bits set, or none.
struct LargeBlocks {
  const Narrow* own;  // W + 1 of them: position p gets that of p + 1
  const Narrow* next;
};

struct PairStep {
  Narrow post;
  Narrow up;        // latency of the next row's messages
  bool rendezvous;  // a transfer waits for both of its cores
  Index width;
};

// Clocks of a row and of the rows that it exchanges blocks with; positions -1 and W may be read.
template <class Clock>
struct Rows {
  const Clock* own;
  const Clock* next;
  const Clock* before;
  Clock* out;
};

struct RingHops {
  const std::vector<Index>& x;
  Index y = 0;
};

/// One step of the row: writes rows.out.
void step_row(const Rows<Ticks>& rows, const RowCosts& costs, Ticks post, Index width);
void step_row(const Rows<Trace>& rows, const RowCosts& costs, Ticks post, Index width, const RingHops& hops);
/// The same with blocks of two sizes.
void step_row(const Rows<Narrow>& rows, const PairCosts& costs, const LargeBlocks& large,
              const PairStep& step);

// One round of an alignment: blocks come from position p + from.
struct Round {
  Index from;
  Ticks post;
  Index width;
};

/// One round of A's shift alone: writes out.
void shift_row(const Ticks* own, Ticks* out, const RowCosts& costs, const Round& round,
               const std::vector<Index>& hops);
void shift_row(const Trace* own, Trace* out, const RowCosts& costs, const Round& round,
               const std::vector<Index>& hops);

}  // namespace wafer::plmr
