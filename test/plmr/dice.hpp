#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "plmr/execution.hpp"

namespace wafer::test {

/// Shapes, devices and start times without a pattern, the same in every run.
class Dice {
public:
  explicit Dice(unsigned seed) : engine_(seed) {}

  Index roll(Index least, Index most) {
    return least + static_cast<Index>(engine_() % static_cast<unsigned long>(most - least + 1));
  }
  bool coin() { return roll(0, 1) == 1; }

  /// `count` sizes up to `most`, a third of them zero.
  std::vector<Index> sizes(Index count, Index most) {
    std::vector<Index> sizes(at(count));
    for (Index& size : sizes) size = std::max(Index{0}, roll(-most / 2, most));
    return sizes;
  }

  /// Every duration a few cycles and a fraction; a wafer on which no two costs are alike.
  plmr::Device device(plmr::Channel channel) {
    plmr::Device device;
    device.channel = channel;
    for (plmr::Ticks* ticks : {&device.ramp, &device.hop, &device.stage, &device.operation, &device.loop,
                               &device.call, &device.accumulate, &device.die_border})
      *ticks = roll(0, 9 * plmr::ticks_per_cycle);
    device.word = coin() ? plmr::ticks_per_cycle : roll(1, 5 * plmr::ticks_per_cycle);
    device.shift = roll(0, 3) == 0 ? 0 : roll(1, 100 * plmr::ticks_per_cycle);
    device.operator_entry = roll(0, 100 * plmr::ticks_per_cycle);
    device.background_word = coin() ? roll(0, 3 * plmr::ticks_per_cycle) : 0;
    device.die_rows = roll(0, 3);
    device.stream_packet_bytes = 4 * roll(1, 2);
    device.memory_word_bytes = 4 * roll(1, 2);
    device.max_elements = roll(1, 4);
    device.vector_elements_16 = roll(1, 4);
    device.vector_elements_32 = roll(1, 4);
    return device;
  }

  plmr::Precision precision() {
    const Index bytes = 2 * roll(1, 2);
    return {.element_bytes = bytes, .truncate_shifts = bytes == 2 && coin()};
  }

  /// Moves every core's clock on, up to `most` ticks.
  void stagger(plmr::Execution& execution, plmr::Ticks most) {
    execution.compute([&](Index, Index) { return roll(0, most); });
  }

private:
  std::mt19937_64 engine_;
};

}  // namespace wafer::test
