#include "plmr/transfer.hpp"

#include <algorithm>
#include <cstdlib>

namespace wafer::plmr {

using mesh::Axis, mesh::CoreCoord;

Transfer::Transfer(Execution& execution, mesh::Mesh from)
    : execution_(execution),
      grid_{std::max(from.height, execution.mesh().height) + 1,
            std::max(from.width, execution.mesh().width) + 1} {  // one more: where differences end
  for (auto* words : {&east_, &west_, &south_, &north_, &sent_, &received_, &partners_})
    words->assign(at(grid_.cores()), 0);
}

void Transfer::send(CoreCoord from, CoreCoord to, Index words) {
  if (from == to || words == 0) return;
  auto& x_links = to.x > from.x ? east_ : west_;
  x_links[core({from.y, std::min(from.x, to.x)})] += words;
  x_links[core({from.y, std::max(from.x, to.x)})] -= words;
  auto& y_links = to.y > from.y ? south_ : north_;
  y_links[core({std::min(from.y, to.y), to.x})] += words;
  y_links[core({std::max(from.y, to.y), to.x})] -= words;
  sent_[core(from)] += words;
  received_[core(to)] += words;
  ++partners_[core(from)];
  ++partners_[core(to)];
  const Index hops = std::abs(to.x - from.x) + std::abs(to.y - from.y);
  ++messages_;
  words_ += words;
  word_hops_ += words * hops;
  longest_ = std::max(longest_, hops);
  const Device& device = execution_.device();
  longest_latency_ = std::max(longest_latency_, device.latency(Axis::x, from.x, to.x) +
                                                    device.latency(Axis::y, from.y, to.y) - device.latency());
}

void Transfer::spread(Axis axis, Index line, Index words) {
  const Index last = execution_.mesh().length(axis) - 1;
  if (words == 0 || last == 0) return;
  auto& links = axis == Axis::x ? east_ : south_;
  links[core(mesh::core_at(axis, line, 0))] += words;
  links[core(mesh::core_at(axis, line, last))] -= words;
  sent_[core(mesh::core_at(axis, line, 0))] += words;
  for (Index place = 1; place <= last; ++place) received_[core(mesh::core_at(axis, line, place))] += words;
  ++messages_;
  words_ += words * last;
  word_hops_ += words * last;
  longest_ = std::max(longest_, last);
  longest_latency_ = std::max(longest_latency_, execution_.device().latency(axis, 0, last));
}

// Words of the busiest link or ramp.
Ticks Transfer::busiest() {
  Index most = 0;
  for (Index y = 0; y < grid_.height; ++y)
    for (Index x = 0; x < grid_.width; ++x) {
      if (x > 0)
        for (auto* links : {&east_, &west_}) (*links)[core({y, x})] += (*links)[core({y, x - 1})];
      if (y > 0)
        for (auto* links : {&south_, &north_}) (*links)[core({y, x})] += (*links)[core({y - 1, x})];
      for (const auto* words : {&east_, &west_, &south_, &north_, &sent_, &received_})
        most = std::max(most, (*words)[core({y, x})]);
    }
  return most;
}

void Transfer::finish() {
  if (messages_ == 0) return;
  const Device& device = execution_.device();
  const Ticks moving = busiest() * device.word;
  const Index partners = *std::max_element(partners_.begin(), partners_.end());
  const Ticks staging = std::max(Index{0}, partners - device.routes) * device.stage;
  const Ticks end = execution_.now() + longest_latency_ + moving + staging;
  const mesh::Mesh mesh = execution_.mesh();
  execution_.visit([&](auto& clocks) {
    for (Index y = 0; y < mesh.height; ++y)
      for (Index x = 0; x < mesh.width; ++x) {
        auto& clock = clocks[at(y * mesh.width + x)];
        if (sent_[core({y, x})] == 0 && received_[core({y, x})] == 0) continue;
        clock = travelled(clock, end - time_of(clock), 0);
      }
  });
  execution_.count(messages_, words_, word_hops_, longest_);
  execution_.use_routes("", std::min(partners, device.routes));
}

}  // namespace wafer::plmr
