#include "io/stored_tensor.hpp"

#include <map>

#include <fmt/format.h>

namespace wafer::io {

std::optional<std::int64_t> bits_of(const std::string& dtype) {
  static const std::map<std::string, std::int64_t> bits = {
      {"F4", 4},          {"F6_E2M3", 6},     {"F6_E3M2", 6}, {"BOOL", 8}, {"U8", 8},   {"I8", 8},
      {"F8_E5M2", 8},     {"F8_E4M3", 8},     {"F8_E8M0", 8}, {"U16", 16}, {"I16", 16}, {"F16", 16},
      {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"BF16", 16},   {"U32", 32}, {"I32", 32}, {"F32", 32},
      {"U64", 64},        {"I64", 64},        {"F64", 64},    {"C64", 64}};
  const auto found = bits.find(dtype);
  return found == bits.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::int64_t> bytes_of(std::int64_t bits, const std::vector<Index>& shape) {
  for (const Index length : shape)
    if (__builtin_mul_overflow(bits, length, &bits)) return std::nullopt;
  return bits % 8 == 0 ? std::optional(bits / 8) : std::nullopt;
}

std::string format_shape(const std::vector<Index>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

}  // namespace wafer::io
