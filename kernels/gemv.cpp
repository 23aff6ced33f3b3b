#include "kernels/gemv.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/vector_clones.hpp"

namespace wafer::kernels {

namespace {

// Four rows at a time, so that c is read and written a quarter as often; added one by one, in the rows'
// order.
inline __attribute__((always_inline)) void add_rows(const float* a, const float* B, Index k, Index n,
                                                    float* __restrict c) {
  Index row = 0;
  for (; row + 4 <= k; row += 4, B += 4 * n)
    for (Index j = 0; j < n; ++j) {
      float sum = c[j] + a[row] * B[j];
      sum += a[row + 1] * B[n + j];
      sum += a[row + 2] * B[2 * n + j];
      c[j] = sum + a[row + 3] * B[3 * n + j];
    }
  for (; row < k; ++row, B += n)
    for (Index j = 0; j < n; ++j) c[j] += a[row] * B[j];
}

// Numbers of 16 bits are read two at a time, as a word whose halves become floats where they are: half the
// work of spreading them first. So c is summed apart, its even and its odd elements.
static_assert(std::endian::native == std::endian::little, "the even number is the word's lower half");
struct Bf16Pair {
  static float even(std::uint32_t pair) { return std::bit_cast<float>(pair << 16); }
  static float odd(std::uint32_t pair) { return std::bit_cast<float>(pair & 0xffff0000U); }
};
struct F16Pair {
  static float even(std::uint32_t pair) { return float_of_f16(static_cast<std::uint16_t>(pair)); }
  static float odd(std::uint32_t pair) { return float_of_f16(static_cast<std::uint16_t>(pair >> 16)); }
};

constexpr Index panel = 2048;                 // columns whose sums stay in the nearest cache
constexpr Index line = 64;                    // of the cache [bytes]
constexpr Index prefetched = Index{1} << 14;  // bytes: longer rows keep the processor's own prefetching busy

struct Sums {
  alignas(line) float even[panel / 2];
  alignas(line) float odd[panel / 2];
};

inline __attribute__((always_inline)) std::uint32_t pair_at(const std::uint16_t* pair) {
  std::uint32_t word = 0;
  std::memcpy(&word, pair, sizeof word);
  return word;
}

// Pairs [begin, end) of `rows` rows, one row after the other.
template <class Pair, Index rows>
inline __attribute__((always_inline)) void add_pairs(const float* a, const std::uint16_t* B, Index n,
                                                     Index begin, Index end, Sums& sums) {
  for (Index p = begin; p < end; ++p) {
    float even = sums.even[p];
    float odd = sums.odd[p];
    for (Index r = 0; r < rows; ++r) {
      const std::uint32_t pair = pair_at(B + r * n + 2 * p);
      even += a[r] * Pair::even(pair);
      odd += a[r] * Pair::odd(pair);
    }
    sums.even[p] = even;
    sums.odd[p] = odd;
  }
}

// Four rows. Short ones are too soon at their end for the processor to notice that they are streams, so the
// next four, which lie behind them, are asked for line after line.
template <class Pair>
inline __attribute__((always_inline)) void add_four(const float* a, const std::uint16_t* B, Index n,
                                                    Index pairs, bool prefetch, Sums& sums) {
  constexpr Index step = line / 4;  // pairs of a cache line
  Index p = 0;
  if (prefetch) {
    const auto* next = reinterpret_cast<const std::byte*>(B + 4 * n);
    for (; p + step <= pairs; p += step, next += 4 * line) {
      for (Index r = 0; r < 4; ++r) __builtin_prefetch(next + r * line);
      add_pairs<Pair, 4>(a, B, n, p, p + step, sums);
    }
  }
  add_pairs<Pair, 4>(a, B, n, p, pairs, sums);
}

template <class Pair>
inline __attribute__((always_inline)) void add_panel(const float* a, const std::uint16_t* B, Shape block,
                                                     Index n, float* c) {
  Sums sums;
  const Index pairs = block.cols / 2;
  for (Index p = 0; p < pairs; ++p) {
    sums.even[p] = c[2 * p];
    sums.odd[p] = c[2 * p + 1];
  }
  const bool short_rows = block.cols == n && 4 * n * Index{sizeof *B} <= prefetched;
  Index row = 0;
  for (; row + 4 <= block.rows; row += 4)
    add_four<Pair>(a + row, B + row * n, n, pairs, short_rows && row + 8 <= block.rows, sums);
  for (; row < block.rows; ++row) add_pairs<Pair, 1>(a + row, B + row * n, n, 0, pairs, sums);
  for (Index p = 0; p < pairs; ++p) {
    c[2 * p] = sums.even[p];
    c[2 * p + 1] = sums.odd[p];
  }
  if (block.cols % 2 == 0) return;
  const Index last = block.cols - 1;
  for (row = 0; row < block.rows; ++row) c[last] += a[row] * Pair::even(B[row * n + last]);
}

template <class Pair>
inline __attribute__((always_inline)) void add_panels(const float* a, const std::uint16_t* B, Index k,
                                                      Index n, float* c) {
  for (Index j = 0; j < n; j += panel) add_panel<Pair>(a, B + j, {k, std::min(panel, n - j)}, n, c + j);
}

WAFER_VECTOR_CLONES void add_f32(const float* a, const float* B, Index k, Index n, float* c) {
  add_rows(a, B, k, n, c);
}
WAFER_VECTOR_CLONES void add_bf16(const float* a, const std::uint16_t* B, Index k, Index n, float* c) {
  add_panels<Bf16Pair>(a, B, k, n, c);
}
WAFER_VECTOR_CLONES void add_f16(const float* a, const std::uint16_t* B, Index k, Index n, float* c) {
  add_panels<F16Pair>(a, B, k, n, c);
}

}  // namespace

void gemv_add(std::span<const float> a, TypedView B, std::span<float> c) {
  assert(static_cast<Index>(a.size()) == B.rows() && static_cast<Index>(c.size()) == B.cols());
  switch (B.type) {
  case DType::f32:
    return add_f32(a.data(), B.as_f32(), B.rows(), B.cols(), c.data());
  case DType::bf16:
    return add_bf16(a.data(), B.as_bits(), B.rows(), B.cols(), c.data());
  case DType::f16:
    return add_f16(a.data(), B.as_bits(), B.rows(), B.cols(), c.data());
  }
}

}  // namespace wafer::kernels
