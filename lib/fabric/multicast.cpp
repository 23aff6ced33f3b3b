#include "fabric/multicast.hpp"

#include <algorithm>
#include <vector>

#include "fabric/packets.hpp"

namespace wafer::fabric {

using mesh::Rank;

void multicast(const Fabric& fabric, mesh::Axis axis, std::span<const Multicast> jobs,
               const std::function<std::span<float>(Index job)>& memory) {
  const mesh::Tiling& tiling = fabric.tiling();
  struct Copy {
    Index job;
    Packets::Room room;
  };
  Packets outgoing, incoming;
  std::vector<Copy> sent, received;
  for (Index number = 0; number < static_cast<Index>(jobs.size()); ++number) {
    const Multicast& job = jobs[at(number)];
    const auto rank_at = [&](Index place) { return tiling.rank_of(mesh::core_at(axis, job.line, place)); };
    const Rank source = rank_at(job.source);
    if (source != fabric.rank()) {
      received.push_back({number, incoming.add(source, at(job.length))});
      continue;
    }
    for (Index place = job.places.begin; place < job.places.end;) {  // a rank has neighbouring places
      const Rank rank = rank_at(place);
      if (rank != source) sent.push_back({number, outgoing.add(rank, at(job.length))});
      place = tiling.tile(rank).places(axis).end;
    }
  }
  if (sent.empty() && received.empty()) return;
  outgoing.allocate();
  incoming.allocate();
  Exchange exchange(fabric.communicator());
  incoming.receive(exchange);
  for (const Copy& copy : sent) {
    const auto numbers = memory(copy.job);
    std::copy(numbers.begin(), numbers.end(), outgoing.at(copy.room));
  }
  outgoing.send(exchange);
  exchange.wait();
  for (const Copy& copy : received) {
    const auto numbers = memory(copy.job);
    std::copy_n(incoming.at(copy.room), numbers.size(), numbers.begin());
  }
}

}  // namespace wafer::fabric
