#pragma once

#include <array>
#include <cstdint>

namespace wafer {

/// Counter-based random numbers: the n-th number of a stream depends on (seed, stream, n) alone, so every
/// rank can make any part of a random matrix by itself. Philox 4x32-10, Salmon et al., SC 2011.
class Random {
public:
  Random(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  /// Four independent uniform 32-bit words.
  std::array<std::uint32_t, 4> words(std::uint64_t n) const;

  /// Uniform in [0, 1), 53 bits.
  double uniform(std::uint64_t n) const;

  /// Standard normal (Box-Muller).
  float normal(std::uint64_t n) const;

private:
  std::uint64_t seed_;
  std::uint64_t stream_;
};

}  // namespace wafer
