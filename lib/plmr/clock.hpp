#pragma once

#include <cstdint>

namespace wafer::plmr {

/// Virtual time in 1/1024 of a cycle. Whole numbers: sums do not drift and do not depend on their order.
using Ticks = std::int64_t;
inline constexpr Ticks ticks_per_cycle = 1024;
/// Earlier than any clock, and still so after any latency: the arrival of a message that nobody sends.
inline constexpr Ticks never = -(Ticks{1} << 60);

constexpr double to_cycles(Ticks ticks) {
  return static_cast<double>(ticks) / static_cast<double>(ticks_per_cycle);
}

/// A clock that remembers what made it: along the chain of events that led to `time`, the ticks spent
/// computing, the hops travelled and the software stages passed.
struct Trace {
  Ticks time = 0;
  Ticks compute = 0;
  std::int64_t hops = 0;
  std::int64_t stages = 0;
};

// The same five steps for both kinds of clock, so that an algorithm is written once.

inline Ticks time_of(Ticks clock) { return clock; }
inline Ticks time_of(const Trace& clock) { return clock.time; }

/// The later of two events; the first where they are at once.
inline Ticks later(Ticks a, Ticks b) { return a < b ? b : a; }
inline Trace later(const Trace& a, const Trace& b) { return a.time < b.time ? b : a; }

/// The core handles messages for some ticks.
inline Ticks after(Ticks clock, Ticks ticks) { return clock + ticks; }
inline Trace after(Trace clock, Ticks ticks) {
  clock.time += ticks;
  return clock;
}

/// The core computes.
inline Ticks computed(Ticks clock, Ticks ticks) { return clock + ticks; }
inline Trace computed(Trace clock, Ticks ticks) {
  clock.time += ticks;
  clock.compute += ticks;
  return clock;
}

/// A message travels.
inline Ticks travelled(Ticks clock, Ticks ticks, std::int64_t) { return clock + ticks; }
inline Trace travelled(Trace clock, Ticks ticks, std::int64_t hops) {
  clock.time += ticks;
  clock.hops += hops;
  return clock;
}

/// A message passes through software.
inline Ticks staged(Ticks clock, Ticks ticks) { return clock + ticks; }
inline Trace staged(Trace clock, Ticks ticks) {
  clock.time += ticks;
  ++clock.stages;
  return clock;
}

}  // namespace wafer::plmr
