#include "core/random.hpp"

#include <cmath>
#include <numbers>

namespace wafer {

std::array<std::uint32_t, 4> Random::words(std::uint64_t n) const {
  constexpr std::uint64_t multiplier_0 = 0xD2511F53U;
  constexpr std::uint64_t multiplier_1 = 0xCD9E8D57U;
  std::array<std::uint32_t, 4> c = {static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(n >> 32),
                                    static_cast<std::uint32_t>(stream_),
                                    static_cast<std::uint32_t>(stream_ >> 32)};
  auto key_0 = static_cast<std::uint32_t>(seed_);
  auto key_1 = static_cast<std::uint32_t>(seed_ >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product_0 = multiplier_0 * c[0];
    const std::uint64_t product_1 = multiplier_1 * c[2];
    c = {static_cast<std::uint32_t>(product_1 >> 32) ^ c[1] ^ key_0, static_cast<std::uint32_t>(product_1),
         static_cast<std::uint32_t>(product_0 >> 32) ^ c[3] ^ key_1, static_cast<std::uint32_t>(product_0)};
    key_0 += 0x9E3779B9U;
    key_1 += 0xBB67AE85U;
  }
  return c;
}

double Random::uniform(std::uint64_t n) const {
  const auto w = words(n);
  const std::uint64_t bits = (static_cast<std::uint64_t>(w[0]) << 32) | w[1];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

float Random::normal(std::uint64_t n) const {
  const auto w = words(n);
  const double u = (static_cast<double>(w[0]) + 0.5) * 0x1p-32;  // never zero
  const double v = static_cast<double>(w[1]) * 0x1p-32;
  return static_cast<float>(std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v));
}

}  // namespace wafer
