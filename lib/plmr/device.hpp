#pragma once

#include <span>
#include <string>

#include "mesh/mesh.hpp"
#include "plmr/clock.hpp"

namespace wafer::plmr {

/// When a transfer between two cores starts: when both have posted it, or when the sender has.
enum class Channel { rendezvous, eager };

/// A mesh of cores as the PLMR model sees it. Durations are in ticks; data/devices says where each value
/// comes from, docs/model.md how it was obtained. Source of the model: WaferLLM (OSDI 2025), section 3.
struct Device {
  std::string name;
  Channel channel = Channel::rendezvous;

  // P and M: cores and their memory.
  Index grid_height = 0;
  Index grid_width = 0;
  Index sram_bytes = 0;  // of a core
  double clock_hz = 0;
  double power_watts = 0;

  // L: links.
  Ticks word = 0;        // a 32-bit word over a link, or through a core's ramp
  Ticks ramp = 0;        // between a core and its router
  Ticks hop = 0;         // from router to router
  Index die_rows = 0;    // rows of cores between two die borders; 0: no borders
  Ticks die_border = 0;  // for crossing one

  // R: routes.
  Index routes = 0;  // static paths that a core's router can be set up for

  // Software that moves data.
  Ticks stage = 0;                // receive, combine and send on: what forwarding adds to an arrival (beta)
  Ticks operation = 0;            // to start one vector or stream operation
  Ticks operator_entry = 0;       // once an operator: task entry, buffers
  Ticks shift = 0;                // to post an asynchronous shift and complete it
  Ticks multicast = 0;            // to take part in a multicast whose root changes from step to step (SUMMA)
  Ticks background_word = 0;      // taken from the main thread for every word moved in the background
  Index stream_packet_bytes = 0;  // of a synchronous stream: its least unit
  Index max_elements = 0;  // 16-bit maxima kept at once: in a packet of a stream, in a cycle of an operation

  // Arithmetic.
  Ticks loop = 0;                // a column of the left operand in a local GEMM; a local GEMV
  Ticks call = 0;                // one multiply-accumulate call over a column
  Ticks accumulate = 0;          // a memory word in such a call
  Index memory_word_bytes = 0;   // read and written at once by it
  Index vector_elements_16 = 0;  // of 16 bits that an elementwise operation handles in a cycle
  Index vector_elements_32 = 0;
  Ticks divide = 0;
  Ticks square_root = 0;
  Ticks exponential = 0;

  mesh::Mesh grid() const { return {grid_height, grid_width}; }
  /// From a core's memory to a neighbour's, before hops and words.
  Ticks latency() const { return 2 * ramp + ticks_per_cycle; }
  /// Of a message from one place of a line to another, before words.
  Ticks latency(mesh::Axis axis, Index from, Index to) const;
};

/// A parameter as a device file names it.
struct DeviceField {
  const char* name;
  const char* unit;
  void (*set)(Device& device, double value);  // durations in cycles
};

/// All parameters; a device file has each of them and no other.
std::span<const DeviceField> device_fields();

}  // namespace wafer::plmr
