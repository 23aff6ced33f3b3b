#pragma once

#include "plmr/device.hpp"

namespace wafer::test {

/// A device whose numbers are all different, so that no two parameters can stand for each other.
inline plmr::Device odd_device() {
  plmr::Device device;
  device.name = "test";
  device.grid_height = 100;
  device.grid_width = 90;
  device.sram_bytes = 49152;
  device.clock_hz = 1e9;
  device.power_watts = 1000;
  const auto cycles = [](double count) { return static_cast<plmr::Ticks>(count * plmr::ticks_per_cycle); };
  device.word = cycles(1);
  device.ramp = cycles(2);
  device.hop = cycles(1.25);
  device.die_rows = 3;
  device.die_border = cycles(17.5);
  device.routes = 24;
  device.stage = cycles(5);
  device.operation = cycles(6);
  device.operator_entry = cycles(80);
  device.shift = cycles(48.125);
  device.multicast = cycles(203);
  device.background_word = cycles(0.625);
  device.stream_packet_bytes = 8;
  device.max_elements = 1;
  device.loop = cycles(38);
  device.call = cycles(1.5);
  device.accumulate = cycles(1);
  device.memory_word_bytes = 4;
  device.vector_elements_16 = 4;
  device.vector_elements_32 = 1;
  device.divide = cycles(50);
  device.square_root = cycles(49);
  device.exponential = cycles(15);
  return device;
}

}  // namespace wafer::test
