#include "plmr/line_shift.hpp"

#include <algorithm>
#include <numeric>

namespace wafer::plmr {

void hand_up(Execution& execution, const std::vector<bool>& rows, std::span<const Index> words) {
  const Device& device = execution.device();
  const auto height = static_cast<Index>(rows.size());
  const Index width = execution.mesh().width;
  const auto sends = [rows, height](Index y) { return y > 0 && y < height && rows[at(y)]; };
  for (Index y = 0; y < height; ++y)
    for (Index x = 0; x < width && (sends(y) || sends(y + 1)); ++x)
      if (words[at(x)] > 0) execution.software_ticks()[at(y * width + x)] += device.shift;
  execution.move(
      [&device, sends, height, width,
       words = std::vector<Index>(words.begin(), words.end())]<class Clock>(std::vector<Clock>& clocks) {
        const std::vector<Clock> before = clocks;
        const Ticks post = device.shift;
        for (Index y = 0; y < height; ++y) {
          if (!sends(y) && !sends(y + 1)) continue;
          const Ticks latency = sends(y + 1) ? device.latency(mesh::Axis::y, y + 1, y) : 0;
          for (Index x = 0; x < width; ++x) {
            const std::size_t core = at(y * width + x);
            const Ticks moving = words[at(x)] * device.word;
            if (moving == 0) continue;
            Clock time = after(before[core], post);
            const bool waits = device.channel == Channel::rendezvous;
            if (sends(y + 1)) {
              time = later(time, travelled(before[core + at(width)], post + latency + moving, 1));
              if (waits) time = later(time, after(before[core], post + latency + moving));
            }
            if (sends(y) && waits) {
              time = later(time, after(before[core], post + moving));
              time = later(time, after(before[core - at(width)], post + moving));
            }
            clocks[core] = time;
          }
        }
      });
  const Index senders = std::count(rows.begin() + 1, rows.end(), true);
  const Index sum = std::accumulate(words.begin(), words.end(), Index{0});
  const Index streams = std::count_if(words.begin(), words.end(), [](Index n) { return n > 0; });
  if (senders * streams == 0) return;
  execution.count(senders * streams, senders * sum, senders * sum, 1);
  execution.use_routes("shift along Y", 2);
}

}  // namespace wafer::plmr
