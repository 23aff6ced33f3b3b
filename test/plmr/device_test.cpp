#include "plmr/device.hpp"

#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"

using wafer::Index;
using namespace wafer::plmr;
using wafer::mesh::Axis;

namespace {

// All parameters of a device; durations in cycles.
std::vector<double> values(const Device& device) {
  std::vector<double> all = {device.clock_hz, device.power_watts};
  for (const Ticks ticks :
       {device.word, device.ramp, device.hop, device.die_border, device.stage, device.operation,
        device.multicast, device.operator_entry, device.shift, device.background_word, device.loop,
        device.call, device.accumulate, device.divide, device.square_root, device.exponential})
    all.push_back(to_cycles(ticks));
  for (const Index count : {device.grid_height, device.grid_width, device.sram_bytes, device.die_rows,
                            device.routes, device.stream_packet_bytes, device.max_elements,
                            device.memory_word_bytes, device.vector_elements_16, device.vector_elements_32})
    all.push_back(static_cast<double>(count));
  return all;
}

}  // namespace

TEST_CASE("every parameter of a device has a field of its own", "[plmr]") {
  CHECK(device_fields().size() == values({}).size());
  std::set<std::string> names;
  std::set<std::size_t> places;
  for (const DeviceField& field : device_fields()) {
    CAPTURE(field.name);
    names.insert(field.name);
    Device device;
    field.set(device, 7);
    const auto now = values(device);
    std::size_t changed = 0;
    for (std::size_t v = 0; v < now.size(); ++v) {
      if (now[v] == 0) continue;
      CHECK(now[v] == 7);
      places.insert(v);
      ++changed;
    }
    CHECK(changed == 1);
    CHECK(!std::string(field.unit).empty());
  }
  CHECK(names.size() == device_fields().size());
  CHECK(places.size() == device_fields().size());
}

TEST_CASE("durations are kept to the nearest 1024th of a cycle", "[plmr]") {
  Device device;
  for (const DeviceField& field : device_fields())
    if (field.name == std::string("hop")) field.set(device, 1.14);
  CHECK(device.hop == 1167);  // 1167.36
  CHECK(to_cycles(1536) == 1.5);
}

TEST_CASE("a message's latency is two ramps and a cycle, then its hops", "[plmr]") {
  Device device;
  device.ramp = 2 * ticks_per_cycle;
  device.hop = 1100;
  CHECK(device.latency() == 5 * ticks_per_cycle);
  for (const Axis axis : {Axis::x, Axis::y}) {
    CHECK(device.latency(axis, 4, 4) == 5 * ticks_per_cycle);
    CHECK(device.latency(axis, 0, 719) == 5 * ticks_per_cycle + 719 * 1100);
    CHECK(device.latency(axis, 9, 2) == 5 * ticks_per_cycle + 7 * 1100);
  }
}

TEST_CASE("die borders delay messages along Y alone, once for each border", "[plmr]") {
  Device device;
  device.die_rows = 168;
  device.die_border = 17 * ticks_per_cycle + 512;
  const auto borders = [&](Axis axis, Index from, Index to) {
    return static_cast<double>(device.latency(axis, from, to) - device.latency()) /
           static_cast<double>(device.die_border);
  };
  CHECK(borders(Axis::y, 0, 167) == 0);
  CHECK(borders(Axis::y, 167, 168) == 1);
  CHECK(borders(Axis::y, 168, 167) == 1);
  CHECK(borders(Axis::y, 335, 168) == 0);
  CHECK(borders(Axis::y, 0, 719) == 4);
  CHECK(borders(Axis::y, 719, 167) == 4);
  CHECK(borders(Axis::x, 0, 719) == 0);
  device.die_rows = 0;
  CHECK(borders(Axis::y, 0, 719) == 0);
}
