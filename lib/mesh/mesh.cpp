#include "mesh/mesh.hpp"

#include <charconv>

#include "core/error.hpp"

namespace wafer::mesh {

Mesh parse_mesh(std::string_view text, const std::string& flag) {
  constexpr Index most = 100'000;
  const auto bad = [&] {
    return UsageError({.what = flag,
                       .got = "\"" + std::string(text) + "\"",
                       .expected = "HxW, rows and columns from 1 to 100000",
                       .remedy = flag + " 8x8"});
  };
  const std::size_t cross = text.find_first_of("xX");
  if (cross == std::string_view::npos) throw bad();
  const auto number = [&](std::string_view digits) {
    Index value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size() || value < 1 || value > most)
      throw bad();
    return value;
  };
  return {number(text.substr(0, cross)), number(text.substr(cross + 1))};
}

std::string to_string(Mesh mesh) { return std::to_string(mesh.height) + "x" + std::to_string(mesh.width); }

}  // namespace wafer::mesh
