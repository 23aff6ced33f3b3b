#include "fabric/chain.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "fabric/exchange.hpp"

namespace wafer::fabric {

using mesh::Axis, mesh::Rank;

namespace {

// One side of a job on this rank: a run of the chain's members that it walks, away from the far end.
struct Walk {
  Index job = 0;
  std::vector<Index> places;  // in the order in which they add
  std::optional<Rank> from;   // who hands in the sum so far
  std::optional<Rank> to;     // who takes it on; without, it stays here for the root
  std::size_t offset = 0;     // of `sum` in this side's memory, or in the message to `to`
  std::size_t incoming_offset = 0;
  std::span<float> sum;
};

using Lengths = std::map<Rank, std::size_t>;  // floats per peer
using Messages = std::map<Rank, std::vector<float>>;

// The side of all jobs that comes from the higher members, or from the lower ones.
class Side {
public:
  Side(const Fabric& fabric, Axis axis, std::span<const ChainJob> jobs, bool high)
      : fabric_(fabric), axis_(axis), jobs_(jobs), exchange_(fabric.communicator()) {
    for (Index job = 0; job < static_cast<Index>(jobs.size()); ++job) add(job, high);
    for (const auto& [peer, floats] : incoming_floats_) incoming_[peer].resize(floats);
    for (const auto& [peer, floats] : outgoing_floats_) outgoing_[peer].resize(floats);
    kept_.resize(kept_floats_);
    for (auto& [peer, message] : incoming_)
      exchange_.receive(peer, std::as_writable_bytes(std::span(message)));
  }

  void run(const Reduction& reduction) {
    exchange_.wait();
    for (Walk& walk : walks_) {
      const std::size_t length = at(jobs_[at(walk.job)].length);
      float* memory = walk.to ? outgoing_[*walk.to].data() : kept_.data();
      walk.sum = {memory + walk.offset, length};
      if (walk.from)
        std::copy_n(incoming_[*walk.from].data() + walk.incoming_offset, length, walk.sum.data());
    }
    fabric_.parallel(static_cast<Index>(walks_.size()), [&](Index w) {
      const Walk& walk = walks_[at(w)];
      bool first = !walk.from;
      for (const Index place : walk.places) {
        reduction.contribute(walk.job, place, walk.sum, first);
        first = false;
      }
    });
    for (const auto& [peer, message] : outgoing_) exchange_.send(peer, std::as_bytes(std::span(message)));
  }

  /// The sums that ended here, for their jobs' roots.
  void collect(std::vector<std::span<const float>>& sums) const {
    for (const Walk& walk : walks_)
      if (!walk.to) sums[at(walk.job)] = walk.sum;
  }

  void wait() { exchange_.wait(); }

private:
  Rank rank_of(const ChainJob& job, Index member) const {
    return fabric_.tiling().rank_of(
        mesh::core_at(axis_, job.line, job.origin + job.chain->members[at(member)]));
  }

  void add(Index number, bool high) {
    const ChainJob& job = jobs_[at(number)];
    const auto& members = job.chain->members;
    const mesh::Range tile = fabric_.tile().places(axis_);
    const auto count = static_cast<Index>(members.size());
    const auto first_from = [&](Index place) {
      return static_cast<Index>(std::lower_bound(members.begin(), members.end(), place - job.origin) -
                                members.begin());
    };
    const Index begin = first_from(tile.begin);  // members [begin, end) are on this rank
    const Index end = first_from(tile.end);
    const Index root = job.chain->root;
    if (begin == end || job.length == 0) return;
    Walk walk;
    walk.job = number;
    const auto take = [&](Index member) { walk.places.push_back(job.origin + members[at(member)]); };
    if (high) {
      if (end <= root) return;  // all of them are on the other side
      for (Index m = end - 1; m > std::max(begin - 1, root); --m) take(m);
      if (end < count) walk.from = rank_of(job, end);
      if (begin > root) walk.to = rank_of(job, begin - 1);
    } else {
      if (begin > root) return;
      for (Index m = begin; m < std::min(end, root); ++m) take(m);
      if (begin > 0) walk.from = rank_of(job, begin - 1);
      if (end <= root) walk.to = rank_of(job, end);
    }
    if (walk.places.empty() && !walk.from) return;  // the root is the last member on this side
    keep(std::move(walk), at(job.length));
  }

  void keep(Walk walk, std::size_t length) {
    if (walk.from) {
      walk.incoming_offset = incoming_floats_[*walk.from];
      incoming_floats_[*walk.from] += length;
    }
    std::size_t& floats = walk.to ? outgoing_floats_[*walk.to] : kept_floats_;
    walk.offset = floats;
    floats += length;
    walks_.push_back(std::move(walk));
  }

  const Fabric& fabric_;
  Axis axis_;
  std::span<const ChainJob> jobs_;
  std::vector<Walk> walks_;
  Lengths incoming_floats_;
  Lengths outgoing_floats_;
  std::size_t kept_floats_ = 0;
  Messages incoming_;
  Messages outgoing_;
  std::vector<float> kept_;
  Exchange exchange_;
};

}  // namespace

void reduce_chains(const Fabric& fabric, Axis axis, std::span<const ChainJob> jobs,
                   const Reduction& reduction) {
  if (fabric.dry()) return;
  Side high(fabric, axis, jobs, true);
  Side low(fabric, axis, jobs, false);
  high.run(reduction);
  low.run(reduction);

  std::vector<std::span<const float>> from_high(jobs.size());
  std::vector<std::span<const float>> from_low(jobs.size());
  high.collect(from_high);
  low.collect(from_low);
  fabric.parallel(static_cast<Index>(jobs.size()), [&](Index number) {
    const ChainJob& job = jobs[at(number)];
    const Index root = job.origin + job.chain->root_place();
    if (job.length == 0 || !fabric.tile().contains(mesh::core_at(axis, job.line, root))) return;
    const std::span<float> sum = reduction.result(number);
    reduction.contribute(number, root, sum, true);
    if (!from_high[at(number)].empty()) reduction.combine(from_high[at(number)], sum);
    if (!from_low[at(number)].empty()) reduction.combine(from_low[at(number)], sum);
  });
  high.wait();
  low.wait();
}

}  // namespace wafer::fabric
