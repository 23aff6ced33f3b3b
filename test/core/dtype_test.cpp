#include "core/dtype.hpp"

#include <cmath>
#include <limits>

#include "support/catch.hpp"

using namespace wafer;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

float of_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// The value of a half by the definition of the format.
double half_by_definition(std::uint32_t bits) {
  const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
  const auto exponent = static_cast<int>((bits >> 10) & 0x1fU);
  const double fraction = static_cast<double>(bits & 0x3ffU) / 1024.0;
  if (exponent == 31) return fraction == 0.0 ? sign * INFINITY : NAN;
  return sign * (exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1.0 + fraction, exponent - 15));
}

}  // namespace

TEST_CASE("a type has the size and the name that safetensors gives it", "[core]") {
  CHECK(size_of(DType::f32) == 4);
  CHECK(size_of(DType::bf16) == 2);
  CHECK(size_of(DType::f16) == 2);
  CHECK(name_of(DType::f32) == "F32");
  CHECK(name_of(DType::bf16) == "BF16");
  CHECK(name_of(DType::f16) == "F16");
}

TEST_CASE("every bfloat16 is the upper half of a float32 and comes back as it was", "[core]") {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float wide = float_of_bf16(static_cast<std::uint16_t>(bits));
    if (std::bit_cast<std::uint32_t>(wide) != bits << 16) ++wrong;
    const std::uint32_t back = bf16_of(wide);
    const bool same =
        std::isnan(wide) ? std::isnan(float_of_bf16(static_cast<std::uint16_t>(back))) : back == bits;
    if (!same) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("every half has the value that its format defines and comes back as it was", "[core]") {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float wide = float_of_f16(static_cast<std::uint16_t>(bits));
    const double expected = half_by_definition(bits);
    const std::uint32_t back = f16_of(wide);
    if (std::isnan(expected)) {
      if (!std::isnan(wide) || !std::isnan(float_of_f16(static_cast<std::uint16_t>(back)))) ++wrong;
      continue;
    }
    if (static_cast<double>(wide) != expected || std::signbit(wide) != std::signbit(expected)) ++wrong;
    if (back != bits) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("between two neighbours the nearer one is taken, in the middle the even one", "[core]") {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {  // halves up to 65504, then what would be 65536
    const double low = half_by_definition(bits);
    const double high = bits == 0x7bff ? 65536.0 : half_by_definition(bits + 1);
    const auto middle = static_cast<float>((low + high) / 2);  // exact
    const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    if (f16_of(middle) != even || f16_of(-middle) != (even | 0x8000U)) ++wrong;
    if (f16_of(std::nextafter(middle, 0.0F)) != bits) ++wrong;
    if (f16_of(std::nextafter(middle, infinity)) != bits + 1) ++wrong;
  }
  for (std::uint32_t bits = 0; bits < 0x7f80; ++bits) {  // bfloat16, infinity as the last neighbour
    const std::uint32_t middle = (bits << 16) + 0x8000U;
    if (bf16_of(of_bits(middle)) != (bits % 2 == 0 ? bits : bits + 1)) ++wrong;
    if (bf16_of(of_bits(middle - 1)) != bits || bf16_of(of_bits(middle + 1)) != bits + 1) ++wrong;
    if (bf16_of(of_bits(middle | 0x80000000U)) != ((bits % 2 == 0 ? bits : bits + 1) | 0x8000U)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("what is too large becomes infinity, what is too small zero, and NaN stays NaN", "[core]") {
  CHECK(f16_of(65519.99F) == 0x7bff);
  CHECK(f16_of(65520.0F) == 0x7c00);
  CHECK(f16_of(-1e30F) == 0xfc00);
  CHECK(f16_of(infinity) == 0x7c00);
  CHECK(f16_of(0x1p-25F) == 0x0000);
  CHECK(f16_of(-0x1p-26F) == 0x8000);
  CHECK(f16_of(std::numeric_limits<float>::denorm_min()) == 0x0000);
  CHECK(bf16_of(std::numeric_limits<float>::max()) == 0x7f80);
  CHECK(bf16_of(-infinity) == 0xff80);
  // payloads whose upper bits are zero, or would carry out of the fraction when rounded
  for (const std::uint32_t bits : {0x7f800001U, 0x7fffffffU, 0xff80ffffU, 0xffffffffU}) {
    CHECK(std::isnan(float_of_bf16(bf16_of(of_bits(bits)))));
    CHECK(std::isnan(float_of_f16(f16_of(of_bits(bits)))));
  }
}
