#include "core/units.hpp"

#include <array>

#include <fmt/format.h>

namespace wafer {

std::string format_bytes(std::int64_t bytes) {
  constexpr std::array<const char*, 4> names = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < names.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, names[unit]);
}

std::string format_hash(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

}  // namespace wafer
