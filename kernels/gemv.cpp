#include "kernels/gemv.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "core/vector_clones.hpp"

namespace wafer::kernels {

namespace {

constexpr Index line = 64;  // of the cache [bytes]

// Which rows are taken together, four at a time, so that c is read and written a quarter as often: of a large
// matrix one of each quarter, as four streams keep more of the memory busy than one; of a small one
// neighbours, as short streams are at their end before the processor notices them.
struct Fours {
  Fours(Shape B, std::size_t element)
      : streams(B.size() / 4 * static_cast<Index>(element) >= 4096),
        count(B.rows / 4),
        apart(streams ? count : 1) {}
  Index first(Index i) const { return streams ? i : 4 * i; }
  Index done() const { return 4 * count; }  // rows; those left come one by one

  bool streams;
  Index count;
  Index apart;
};

// Processors ask for a stream's next lines by themselves. Intel's do so up to the page's end only, and being
// asked as well makes them up to a third faster; AMD's it makes a quarter slower where memory is fast.
bool worth_asking() {
#if defined(__x86_64__) && defined(__GNUC__)
  return __builtin_cpu_is("intel") != 0;
#else
  return false;
#endif
}

// Where to ask for what comes next, from a place in a row of a panel.
class Ahead {
public:
  // The first `width` columns of rows of `n` numbers: so far ahead, and at their end in the next row. Of
  // small blocks the next four rows.
  Ahead(const Fours& fours, Index width, Index n, std::size_t element)
      : asks_(worth_asking()),
        distance_(fours.streams ? 2048 / static_cast<Index>(element) : 4 * n),
        end_(fours.streams ? width : std::numeric_limits<Index>::max()),
        to_next_row_(n - width) {}

  bool asks() const { return asks_; }
  Index operator()(Index column) const {
    const Index next = column + distance_;
    return next < end_ ? next : next + to_next_row_;
  }

private:
  bool asks_;
  Index distance_;
  Index end_;
  Index to_next_row_;
};

// May lie behind the end of B, where asking does no harm but a pointer may not go: hence the integer.
template <class T>
inline __attribute__((always_inline)) void ask_for(const T* B, Index k) {
  const auto address = reinterpret_cast<std::uintptr_t>(B) + sizeof(T) * at(k);
  __builtin_prefetch(reinterpret_cast<const void*>(address));  // NOLINT(performance-no-int-to-ptr)
}

inline __attribute__((always_inline)) void add_four(const float* a, Index a_apart, const float* B,
                                                    Index apart, Index begin, Index end,
                                                    float* __restrict c) {
  for (Index j = begin; j < end; ++j) {
    float sum = c[j] + a[0] * B[j];
    sum += a[a_apart] * B[apart + j];
    sum += a[2 * a_apart] * B[2 * apart + j];
    c[j] = sum + a[3 * a_apart] * B[3 * apart + j];
  }
}

inline __attribute__((always_inline)) void add_rows(const float* a, const float* B, Shape shape,
                                                    float* __restrict c) {
  const Fours fours(shape, sizeof *B);
  const Index n = shape.cols;
  const Index apart = fours.apart * n;
  const Ahead ahead(fours, n, n, sizeof *B);
  constexpr Index step = line / 4;
  for (Index i = 0; i < fours.count; ++i) {
    const float* row = B + fours.first(i) * n;
    const float* factor = a + fours.first(i);
    Index j = 0;
    for (; j + step <= n; j += step) {
      if (ahead.asks())
        for (Index r = 0; r < 4; ++r) ask_for(row, r * apart + ahead(j));
      add_four(factor, fours.apart, row, apart, j, j + step, c);
    }
    add_four(factor, fours.apart, row, apart, j, n, c);
  }
  for (Index i = fours.done(); i < shape.rows; ++i)
    for (Index j = 0; j < n; ++j) c[j] += a[i] * B[i * n + j];
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

constexpr Index panel = 16384;    // columns whose sums stay in the second-level cache: 64 KiB
constexpr Index step = line / 4;  // pairs in a line

struct Sums {
  alignas(line) float even[panel / 2 + step];
  alignas(line) float odd[panel / 2 + step];
};

inline __attribute__((always_inline)) std::uint32_t pair_at(const std::uint16_t* pair) {
  std::uint32_t word = 0;
  std::memcpy(&word, pair, sizeof word);
  return word;
}

// Pairs [begin, end) of `rows` rows, which lie `apart` numbers from each other, one row after the other.
template <class Pair, Index rows>
inline __attribute__((always_inline)) void add_some(const std::array<float, rows>& a, const std::uint16_t* B,
                                                    Index apart, Index begin, Index end, Sums& sums) {
  for (Index p = begin; p < end; ++p) {
    float even = sums.even[p];
    float odd = sums.odd[p];
    for (Index r = 0; r < rows; ++r) {
      const std::uint32_t pair = pair_at(B + r * apart + 2 * p);
      even += a[at(r)] * Pair::even(pair);
      odd += a[at(r)] * Pair::odd(pair);
    }
    sums.even[p] = even;
    sums.odd[p] = odd;
  }
}

// A line of the cache at a time: a loop of known length, a third faster than one that only knows its end. So
// the last line goes on beyond its row, into what follows, for sums that nobody reads; where B has less than
// a line of `readable` pairs left, they are added alone.
template <class Pair, Index rows>
inline __attribute__((always_inline)) void add_pairs(const std::array<float, rows>& a, const std::uint16_t* B,
                                                     Index apart, Index pairs, Index readable,
                                                     const Ahead& ahead, Sums& sums) {
  Index p = 0;
  for (; p < pairs && p + step <= readable; p += step) {
    if (ahead.asks())
      for (Index r = 0; r < rows; ++r) ask_for(B, r * apart + ahead(2 * p));
    add_some<Pair, rows>(a, B, apart, p, p + step, sums);
  }
  add_some<Pair, rows>(a, B, apart, p, pairs, sums);
}

// `width` columns from the first on: but for the last one where they are odd.
template <class Pair>
inline __attribute__((always_inline)) void add_panel(const float* a, const std::uint16_t* B, Shape shape,
                                                     Index first, Index width, float* c) {
  const Fours fours(shape, sizeof *B);
  const Index n = shape.cols;
  const Index pairs = width / 2;
  const Ahead ahead(fours, width, n, sizeof *B);
  const auto readable = [&](Index row) { return ((shape.rows - row) * n - first) / 2; };
  Sums sums;
  for (Index p = 0; p < pairs; ++p) {
    sums.even[p] = c[first + 2 * p];
    sums.odd[p] = c[first + 2 * p + 1];
  }
  std::fill_n(sums.even + pairs, step, 0.0F);
  std::fill_n(sums.odd + pairs, step, 0.0F);
  for (Index i = 0; i < fours.count; ++i) {
    const Index row = fours.first(i);
    const float* factor = a + row;
    add_pairs<Pair, 4>({factor[0], factor[fours.apart], factor[2 * fours.apart], factor[3 * fours.apart]},
                       B + row * n + first, fours.apart * n, pairs, readable(row + 3 * fours.apart), ahead,
                       sums);
  }
  for (Index i = fours.done(); i < shape.rows; ++i)
    add_pairs<Pair, 1>({a[i]}, B + i * n + first, 0, pairs, readable(i), ahead, sums);
  for (Index p = 0; p < pairs; ++p) {
    c[first + 2 * p] = sums.even[p];
    c[first + 2 * p + 1] = sums.odd[p];
  }
}

// The last one of an odd number of columns, in the same order.
template <class Pair>
void add_last_column(const float* a, const std::uint16_t* B, Shape shape, float& c) {
  const Fours fours(shape, sizeof *B);
  const auto add = [&](Index i) { c += a[i] * Pair::even(B[i * shape.cols + shape.cols - 1]); };
  for (Index i = 0; i < fours.count; ++i)
    for (Index q = 0; q < 4; ++q) add(fours.first(i) + q * fours.apart);
  for (Index i = fours.done(); i < shape.rows; ++i) add(i);
}

template <class Pair>
inline __attribute__((always_inline)) void add_panels(const float* a, const std::uint16_t* B, Shape shape,
                                                      float* c) {
  for (Index j = 0; j < shape.cols; j += panel)
    add_panel<Pair>(a, B, shape, j, std::min(panel, shape.cols - j), c);
  if (shape.cols % 2 != 0) add_last_column<Pair>(a, B, shape, c[shape.cols - 1]);
}

WAFER_VECTOR_CLONES void add_f32(const float* a, const float* B, Shape shape, float* c) {
  add_rows(a, B, shape, c);
}
WAFER_VECTOR_CLONES void add_bf16(const float* a, const std::uint16_t* B, Shape shape, float* c) {
  add_panels<Bf16Pair>(a, B, shape, c);
}
WAFER_VECTOR_CLONES void add_f16(const float* a, const std::uint16_t* B, Shape shape, float* c) {
  add_panels<F16Pair>(a, B, shape, c);
}

}  // namespace

void gemv_add(std::span<const float> a, TypedView B, std::span<float> c) {
  assert(static_cast<Index>(a.size()) == B.rows() && static_cast<Index>(c.size()) == B.cols());
  switch (B.type) {
  case DType::f32:
    return add_f32(a.data(), B.as_f32(), {B.rows(), B.cols()}, c.data());
  case DType::bf16:
    return add_bf16(a.data(), B.as_bits(), {B.rows(), B.cols()}, c.data());
  case DType::f16:
    return add_f16(a.data(), B.as_bits(), {B.rows(), B.cols()}, c.data());
  }
}

}  // namespace wafer::kernels
