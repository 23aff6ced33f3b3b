#include "fabric/ring_all_reduce.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "fabric/exchange.hpp"
#include "mesh/ring.hpp"

namespace wafer::fabric {

using mesh::Axis, mesh::Rank;

namespace {

using Messages = std::map<Rank, std::vector<float>>;

class RingSums {
public:
  RingSums(const Fabric& fabric, Axis axis, std::span<const RingSegment> segments, const AllReduceWork& work)
      : fabric_(fabric), axis_(axis), segments_(segments), work_(work) {
    for (const RingSegment& segment : segments_) {
      auto& cores = own_.emplace_back(at(segment.cores.places.size()));
      for (Index p = 0; p < size(segment); ++p) {
        if (rank_of(segment, p) != fabric_.rank()) continue;
        cores[at(p)].resize(at(work_.length(segment.number)));
        const auto value = work_.value(segment.number, place(segment, p), cores[at(p)]);
        if (value.data() != cores[at(p)].data()) cores[at(p)].assign(value.begin(), value.end());
      }
    }
  }

  // After round s, position p has the sum so far of chunk p + s + 2 … of the cores behind it and its own.
  void reduce_scatter() {
    Index most = 0;
    for (const RingSegment& segment : segments_) most = std::max(most, size(segment));
    for (Index round = 0; round + 1 < most; ++round) {
      Messages incoming, outgoing;
      for (std::size_t s = 0; s < segments_.size(); ++s) post(s, round, incoming, outgoing);
      exchange(incoming, outgoing);
      std::map<Rank, std::size_t> taken;
      for (std::size_t s = 0; s < segments_.size(); ++s) add(s, round, incoming, taken);
    }
  }

  void hand_out(bool multicast) {
    Messages incoming, outgoing;
    for (std::size_t s = 0; s < segments_.size(); ++s) {
      const RingSegment& segment = segments_[s];
      const std::set<Rank> wanted = readers(segment, multicast);
      const bool mine = wanted.count(fabric_.rank()) > 0;
      for (Index c = 0; c < size(segment); ++c) {
        const Rank home = rank_of(segment, c);
        const mesh::Range part = chunk(segment, c);
        if (home != fabric_.rank()) {
          if (mine) incoming[home].resize(incoming[home].size() + at(part.size()));
          continue;
        }
        const auto sum = std::span(own_[s][at(c)]).subspan(at(part.begin), at(part.size()));
        for (const Rank rank : wanted)
          if (rank != home) outgoing[rank].insert(outgoing[rank].end(), sum.begin(), sum.end());
        if (mine) std::copy(sum.begin(), sum.end(), work_.result(segment.number).begin() + part.begin);
      }
    }
    exchange(incoming, outgoing);
    std::map<Rank, std::size_t> taken;
    for (const RingSegment& segment : segments_) {
      if (readers(segment, multicast).count(fabric_.rank()) == 0) continue;
      for (Index c = 0; c < size(segment); ++c) {
        const Rank home = rank_of(segment, c);
        if (home == fabric_.rank()) continue;
        const mesh::Range part = chunk(segment, c);
        std::copy_n(incoming[home].data() + taken[home], part.size(),
                    work_.result(segment.number).begin() + part.begin);
        taken[home] += at(part.size());
      }
    }
  }

private:
  static Index size(const RingSegment& segment) { return segment.cores.places.size(); }
  static Index place(const RingSegment& segment, Index position) {
    return segment.cores.places.begin + mesh::Ring(size(segment)).place_of({position});
  }
  Rank rank_of(const RingSegment& segment, Index position) const {
    return fabric_.tiling().rank_of(mesh::core_at(axis_, segment.cores.line, place(segment, position)));
  }
  mesh::Range chunk(const RingSegment& segment, Index c) const {
    const auto offsets = part_offsets(work_.length(segment.number), size(segment));
    return {offsets[at(c)], offsets[at(c) + 1]};
  }
  std::set<Rank> readers(const RingSegment& segment, bool multicast) const {
    std::set<Rank> ranks;
    if (!multicast) {
      const Index root = segment.cores.places.begin + ring_root(size(segment));
      return {fabric_.tiling().rank_of(mesh::core_at(axis_, segment.cores.line, root))};
    }
    for (Index p = 0; p < size(segment); ++p) ranks.insert(rank_of(segment, p));
    return ranks;
  }
  void exchange(Messages& incoming, const Messages& outgoing) const {
    Exchange exchange(fabric_.communicator());
    for (auto& [peer, message] : incoming) exchange.receive(peer, std::as_writable_bytes(std::span(message)));
    for (const auto& [peer, message] : outgoing) exchange.send(peer, std::as_bytes(std::span(message)));
    exchange.wait();
  }

  // What crosses between ranks in a round: position p hands chunk p + round + 1 to position p - 1.
  void post(std::size_t s, Index round, Messages& incoming, Messages& outgoing) const {
    const RingSegment& segment = segments_[s];
    const Index n = size(segment);
    for (Index p = 0; round + 1 < n && p < n; ++p) {
      const Rank from = rank_of(segment, p), to = rank_of(segment, wrap(p - 1, n));
      if (from == to) continue;
      const mesh::Range part = chunk(segment, (p + round + 1) % n);
      if (to == fabric_.rank()) incoming[from].resize(incoming[from].size() + at(part.size()));
      if (from != fabric_.rank()) continue;
      const auto sum = std::span(own_[s][at(p)]).subspan(at(part.begin), at(part.size()));
      outgoing[to].insert(outgoing[to].end(), sum.begin(), sum.end());
    }
  }
  // Sum so far, then the core's own: a chunk is handed on before the core adds to another, so all cores can
  // be handled one after the other.
  void add(std::size_t s, Index round, const Messages& incoming, std::map<Rank, std::size_t>& taken) {
    const RingSegment& segment = segments_[s];
    const Index n = size(segment);
    for (Index p = 0; round + 1 < n && p < n; ++p) {
      const Index to = wrap(p - 1, n);
      const Rank from_rank = rank_of(segment, p);
      if (rank_of(segment, to) != fabric_.rank()) continue;
      const mesh::Range part = chunk(segment, (p + round + 1) % n);
      const std::size_t length = at(part.size());
      const float* arrived = nullptr;
      if (from_rank == fabric_.rank()) {
        arrived = own_[s][at(p)].data() + part.begin;
      } else {
        arrived = incoming.at(from_rank).data() + taken[from_rank];
        taken[from_rank] += length;
      }
      std::vector<float> sum(arrived, arrived + length);
      const auto mine = std::span(own_[s][at(to)]).subspan(at(part.begin), length);
      work_.combine(mine, sum);
      std::copy(sum.begin(), sum.end(), mine.begin());
    }
  }

  const Fabric& fabric_;
  Axis axis_;
  std::span<const RingSegment> segments_;
  const AllReduceWork& work_;
  std::vector<std::vector<std::vector<float>>> own_;  // (segments, ring positions) of the cores on this rank
};

}  // namespace

void ring_all_reduce(const Fabric& fabric, Axis axis, std::span<const RingSegment> segments,
                     const AllReduceWork& work, bool multicast) {
  RingSums sums(fabric, axis, segments, work);
  sums.reduce_scatter();
  sums.hand_out(multicast);
}

}  // namespace wafer::fabric
