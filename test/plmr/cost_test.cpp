#include "plmr/cost.hpp"

#include <cmath>
#include <vector>

#include "support/catch.hpp"

using wafer::Index;
using namespace wafer::plmr;

namespace {

constexpr Ticks cycle = ticks_per_cycle;

Ticks cycles(double value) { return std::llround(value * static_cast<double>(cycle)); }

// The arithmetic of a WSE-2.
Device wse2() {
  Device device;
  device.word = cycle;
  device.operation = 6 * cycle;
  device.loop = 38 * cycle;
  device.call = cycles(1.06);
  device.accumulate = cycle;
  device.memory_word_bytes = 4;
  device.vector_elements_16 = 2;
  device.vector_elements_32 = 1;
  device.stream_packet_bytes = 4;
  device.max_elements = 1;
  return device;
}

// The memory and streams of a WSE-3.
Device wse3() {
  Device device = wse2();
  device.memory_word_bytes = 8;
  device.vector_elements_16 = 4;
  device.vector_elements_32 = 2;
  device.stream_packet_bytes = 8;
  device.max_elements = 4;
  return device;
}

}  // namespace

TEST_CASE("an elementwise operation over 5124 numbers takes the 5130 cycles that a WSE-2 takes", "[plmr]") {
  const Device device = wse2();
  const Cost cost(device, {.element_bytes = 4});
  CHECK(cost.vector(5124) == 5130 * cycle);
  CHECK(cost.vector_with_bank_conflict(5124) == 10254 * cycle);
  CHECK(cost.vector(0) == 0);
  CHECK(Cost(device, {.element_bytes = 2}).vector(5125) == (6 + 2563) * cycle);
}

TEST_CASE("a product of matrix and vector takes what one core of a WSE-2 takes, within 1%", "[plmr]") {
  const Device device = wse2();
  const Cost cost(device, {.element_bytes = 4});
  const std::vector<double> measured = {169.8,  458.8,  1029.8, 1678.8, 2692.8,
                                        3701.8, 5152.8, 6521.8, 8412.8, 10144.8};
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const auto n = static_cast<Index>(10 * (i + 1));
    const Index padded = (n + 3) / 4 * 4;
    CAPTURE(n);
    CHECK(std::abs(to_cycles(cost.gemv(n, padded)) / measured[i] - 1) < 0.01);
  }
}

TEST_CASE("a call pays for the memory words that neighbouring columns touch on average", "[plmr]") {
  for (const Index memory_word : {2, 4, 8, 16})
    for (const Index element : {2, 4}) {
      Device device = wse2();
      device.memory_word_bytes = memory_word;
      device.call = 0;
      const Cost cost(device, {.element_bytes = element});
      const Index elements = std::max(Index{1}, memory_word / element);
      for (Index n = 0; n <= 40; ++n) {
        Index touched = 0;
        for (Index column = 0; column < elements && n > 0; ++column)
          touched += ((column + 1) * n - 1) / elements - column * n / elements + 1;
        CAPTURE(memory_word, element, n);
        CHECK(cost.axpy(n) * elements == device.accumulate * touched);
      }
    }
}

TEST_CASE("local products pay a loop a column of the left operand, and a call a column of the right one",
          "[plmr]") {
  const Device device = wse2();
  const Cost cost(device, {.element_bytes = 4});
  const Ticks call = cycles(1.06);
  CHECK(cost.gemm(3, 5, 7) == 5 * (38 * cycle + 7 * (call + 3 * cycle)));
  CHECK(cost.gemm_column(3, 7) * 5 == cost.gemm(3, 5, 7));
  CHECK(cost.gemv(5, 7) == 38 * cycle + 5 * (call + 7 * cycle));
  for (int empty = 0; empty < 3; ++empty)
    CHECK(cost.gemm(empty == 0 ? 0 : 3, empty == 1 ? 0 : 5, empty == 2 ? 0 : 7) == 0);
  CHECK(cost.gemv(0, 7) == 0);
  CHECK(cost.gemv(5, 0) == 0);
}

TEST_CASE("a shift of an odd number of 16-bit elements sends half a word of nothing, or truncates",
          "[plmr]") {
  const Device device = wse3();
  const Cost whole(device, {.element_bytes = 2});
  const Cost truncated(device, {.element_bytes = 2, .truncate_shifts = true});
  for (Index n = 0; n < 9; ++n) {
    CHECK(whole.shift_words(n) == (n + 1) / 2);
    CHECK(truncated.shift_words(n) == n / 2);
    CHECK(Cost(device, {.element_bytes = 4}).shift_words(n) == n);
    CHECK(Cost(device, {.element_bytes = 4, .truncate_shifts = true}).shift_words(n) == n);
  }
}

TEST_CASE("a stream sends whole packets", "[plmr]") {
  const Device two = wse2(), three = wse3();
  const Cost small(two, {.element_bytes = 2}), large(three, {.element_bytes = 2});
  for (Index n = 0; n < 13; ++n) {
    CAPTURE(n);
    CHECK(small.stream_words(n) == (n + 1) / 2);
    CHECK(large.stream_words(n) == (n + 3) / 4 * 2);
    CHECK(Cost(two, {.element_bytes = 4}).stream_words(n) == n);
    CHECK(Cost(three, {.element_bytes = 4}).stream_words(n) == (n + 1) / 2 * 2);
  }
}

TEST_CASE("16-bit maxima go as many a packet and a cycle as the device keeps, 32-bit ones like sums",
          "[plmr]") {
  const Device two = wse2(), three = wse3();
  const Cost small(two, {.element_bytes = 2}), large(three, {.element_bytes = 2});
  for (Index n = 0; n < 13; ++n) {
    CAPTURE(n);
    CHECK(small.max_words(n) == n);
    CHECK(large.max_words(n) == (n + 3) / 4 * 2);
    CHECK(small.maxima(n) == (n == 0 ? 0 : (6 + n) * cycle));
    CHECK(large.maxima(n) == (n == 0 ? 0 : (6 + (n + 3) / 4) * cycle));
    for (const Device* device : {&two, &three}) {
      const Cost single(*device, {.element_bytes = 4});
      CHECK(single.max_words(n) == single.stream_words(n));
      CHECK(single.maxima(n) == single.vector(n));
    }
  }
}
