#include "plmr/device.hpp"

#include <array>
#include <cmath>
#include <cstdlib>

namespace wafer::plmr {

namespace {

template <Ticks Device::*member>
void set_cycles(Device& device, double value) {
  device.*member = std::llround(value * static_cast<double>(ticks_per_cycle));
}
template <Index Device::*member>
void set_count(Device& device, double value) {
  device.*member = std::llround(value);
}
template <double Device::*member>
void set_real(Device& device, double value) {
  device.*member = value;
}

using D = Device;
constexpr std::array fields = {
    DeviceField{"grid_height", "cores", set_count<&D::grid_height>},
    DeviceField{"grid_width", "cores", set_count<&D::grid_width>},
    DeviceField{"sram_bytes", "bytes", set_count<&D::sram_bytes>},
    DeviceField{"clock", "hertz", set_real<&D::clock_hz>},
    DeviceField{"power", "watts", set_real<&D::power_watts>},
    DeviceField{"word", "cycles", set_cycles<&D::word>},
    DeviceField{"ramp", "cycles", set_cycles<&D::ramp>},
    DeviceField{"hop", "cycles", set_cycles<&D::hop>},
    DeviceField{"die_rows", "cores", set_count<&D::die_rows>},
    DeviceField{"die_border", "cycles", set_cycles<&D::die_border>},
    DeviceField{"routes", "paths", set_count<&D::routes>},
    DeviceField{"stage", "cycles", set_cycles<&D::stage>},
    DeviceField{"operation", "cycles", set_cycles<&D::operation>},
    DeviceField{"operator_entry", "cycles", set_cycles<&D::operator_entry>},
    DeviceField{"shift", "cycles", set_cycles<&D::shift>},
    DeviceField{"multicast", "cycles", set_cycles<&D::multicast>},
    DeviceField{"background_word", "cycles", set_cycles<&D::background_word>},
    DeviceField{"stream_packet_bytes", "bytes", set_count<&D::stream_packet_bytes>},
    DeviceField{"max_elements", "elements", set_count<&D::max_elements>},
    DeviceField{"loop", "cycles", set_cycles<&D::loop>},
    DeviceField{"call", "cycles", set_cycles<&D::call>},
    DeviceField{"accumulate", "cycles", set_cycles<&D::accumulate>},
    DeviceField{"memory_word_bytes", "bytes", set_count<&D::memory_word_bytes>},
    DeviceField{"vector_elements_16", "elements", set_count<&D::vector_elements_16>},
    DeviceField{"vector_elements_32", "elements", set_count<&D::vector_elements_32>},
    DeviceField{"divide", "cycles", set_cycles<&D::divide>},
    DeviceField{"square_root", "cycles", set_cycles<&D::square_root>},
    DeviceField{"exponential", "cycles", set_cycles<&D::exponential>},
};

}  // namespace

std::span<const DeviceField> device_fields() { return fields; }

Ticks Device::latency(mesh::Axis axis, Index from, Index to) const {
  Ticks ticks = latency() + std::abs(to - from) * hop;
  if (axis == mesh::Axis::y && die_rows > 0) ticks += std::abs(to / die_rows - from / die_rows) * die_border;
  return ticks;
}

}  // namespace wafer::plmr
