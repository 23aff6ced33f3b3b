#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace wafer {

/// How a number is stored. Arithmetic is always float32 (mesh) or float64 (reference).
enum class DType : std::uint8_t { f32, bf16, f16 };

/// Bytes of one element.
constexpr std::size_t size_of(DType type) { return type == DType::f32 ? 4 : 2; }

/// "F32", "BF16", "F16": the names that safetensors uses.
constexpr std::string_view name_of(DType type) {
  switch (type) {
  case DType::bf16:
    return "BF16";
  case DType::f16:
    return "F16";
  case DType::f32:
    break;
  }
  return "F32";
}

/// bfloat16 is the upper half of a float32: exact for every value, NaN payloads and subnormals included.
constexpr float float_of_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Rounds to nearest, ties to even; NaN stays NaN.
constexpr std::uint16_t bf16_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

/// IEEE half to float32: exact. Without branches, so that loops over it become vector code.
constexpr float float_of_f16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7fffU) << 13;
  // The exponents' biases differ by 112; the product makes subnormals normal. Infinity and NaN get the
  // exponent of theirs.
  const auto scaled = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
  const std::uint32_t special = magnitude >= 0x0f800000U ? 0x7f800000U : 0U;
  return std::bit_cast<float>(sign | scaled | special);
}

/// float32 to IEEE half: nearest, ties to even; too large becomes infinity, NaN stays NaN.
constexpr std::uint16_t f16_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U);
  if (magnitude >= 0x477ff000U)
    return static_cast<std::uint16_t>(sign | 0x7c00U);               // 65520 rounds to infinity
  if (magnitude < 0x38800000U) {                                     // subnormal half
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p24F;  // exact
    const auto whole = static_cast<std::uint32_t>(scaled);
    const float rest = scaled - static_cast<float>(whole);
    const bool up = rest > 0.5F || (rest == 0.5F && (whole & 1U) != 0);
    return static_cast<std::uint16_t>(sign | (whole + (up ? 1U : 0U)));
  }
  const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

}  // namespace wafer
