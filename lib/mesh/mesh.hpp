#pragma once

#include <string>
#include <string_view>

#include "core/index.hpp"

namespace wafer::mesh {

/// X runs along a row, Y along a column.
enum class Axis { x, y };

constexpr Axis other(Axis axis) { return axis == Axis::x ? Axis::y : Axis::x; }

/// A core's physical place; y is the row.
struct CoreCoord {
  Index y = 0;
  Index x = 0;
  friend bool operator==(const CoreCoord&, const CoreCoord&) = default;
};

/// A place in a ring's order. Never a physical place: Ring converts.
struct RingPos {
  Index value = 0;
  friend bool operator==(const RingPos&, const RingPos&) = default;
};

/// A process.
struct Rank {
  int value = 0;
  friend bool operator==(const Rank&, const Rank&) = default;
  friend bool operator<(const Rank& a, const Rank& b) { return a.value < b.value; }
};

/// height x width cores.
struct Mesh {
  Index height = 1;  // H: rows
  Index width = 1;   // W: columns

  Index cores() const { return height * width; }
  /// Cores on a line along the axis.
  Index length(Axis axis) const { return axis == Axis::x ? width : height; }
  /// Number of lines along the axis.
  Index lines(Axis axis) const { return length(other(axis)); }
  friend bool operator==(const Mesh&, const Mesh&) = default;
};

/// The place of a core on its line along the axis, and which line that is.
constexpr Index place_on(Axis axis, CoreCoord core) { return axis == Axis::x ? core.x : core.y; }
constexpr Index line_of(Axis axis, CoreCoord core) { return axis == Axis::x ? core.y : core.x; }

/// Core `place` of line `line` along the axis.
constexpr CoreCoord core_at(Axis axis, Index line, Index place) {
  return axis == Axis::x ? CoreCoord{line, place} : CoreCoord{place, line};
}

/// Two whole numbers with an x between them, as in "8x8" or "2x3": rows first.
/// @param flag names the flag in messages   @throws UsageError
Mesh parse_mesh(std::string_view text, const std::string& flag);

std::string to_string(Mesh mesh);

}  // namespace wafer::mesh
