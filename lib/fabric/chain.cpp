#include "fabric/chain.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "fabric/packets.hpp"

namespace wafer::fabric {

using mesh::Axis;

namespace {

// One side of a job on this rank: a run of the chain's members that it walks, away from the far end.
struct Walk {
  Index job = 0;
  mesh::Range members;                // of the chain; the higher side takes them from the last to the first
  std::optional<Packets::Room> from;  // where the sum so far is handed in
  std::optional<Packets::Room> to;    // where it is taken on; without, it stays here for the root
  std::size_t kept = 0;               // of such a sum: its place among them
};

// The side of all jobs that comes from the higher members, or from the lower ones.
class Side {
public:
  Side(const Fabric& fabric, Axis axis, std::span<const ChainJob> jobs, bool high)
      : fabric_(fabric), axis_(axis), jobs_(jobs), high_(high), exchange_(fabric.communicator()) {
    walks_.reserve(jobs.size());
    for (Index job = 0; job < static_cast<Index>(jobs.size()); ++job) add(job);
    incoming_.allocate();
    outgoing_.allocate();
    kept_ = std::make_unique_for_overwrite<float[]>(kept_floats_);
    incoming_.receive(exchange_);
  }

  void run(const Reduction& reduction) {
    exchange_.wait();
    fabric_.parallel(static_cast<Index>(walks_.size()), [&](Index w) { go(walks_[at(w)], reduction); });
    outgoing_.send(exchange_);
  }

  /// The sums that ended here, for their jobs' roots.
  void collect(std::vector<std::span<const float>>& sums) const {
    for (const Walk& walk : walks_)
      if (!walk.to) sums[at(walk.job)] = sum_of(walk);
  }

  void wait() { exchange_.wait(); }

private:
  std::span<float> sum_of(const Walk& walk) const {
    float* memory = walk.to ? outgoing_.at(*walk.to) : kept_.get() + walk.kept;
    return {memory, at(jobs_[at(walk.job)].length)};
  }

  void go(const Walk& walk, const Reduction& reduction) const {
    const std::span<float> sum = sum_of(walk);
    if (walk.from) std::copy_n(incoming_.at(*walk.from), sum.size(), sum.begin());
    const ChainJob& job = jobs_[at(walk.job)];
    const Index count = walk.members.size();
    for (Index m = 0; m < count; ++m) {
      const Index member = high_ ? walk.members.end - 1 - m : walk.members.begin + m;
      const Index place = job.origin + job.chain->members[at(member)];
      reduction.contribute(walk.job, place, sum, m == 0 && !walk.from);
    }
  }

  void add(Index number) {
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
    const std::size_t floats = at(job.length);
    const auto rank_of = [&](Index member) {
      return fabric_.tiling().rank_of(mesh::core_at(axis_, job.line, job.origin + members[at(member)]));
    };
    Walk walk;
    walk.job = number;
    if (high_) {
      if (end <= root) return;  // all of them are on the other side
      walk.members = {std::max(begin, root + 1), end};
      if (end < count) walk.from = incoming_.add(rank_of(end), floats);
      if (begin > root) walk.to = outgoing_.add(rank_of(begin - 1), floats);
    } else {
      if (begin > root) return;
      walk.members = {begin, std::min(end, root)};
      if (begin > 0) walk.from = incoming_.add(rank_of(begin - 1), floats);
      if (end <= root) walk.to = outgoing_.add(rank_of(end), floats);
    }
    if (walk.members.size() == 0 && !walk.from) return;  // the root is the last member on this side
    if (!walk.to) {
      walk.kept = kept_floats_;
      kept_floats_ += floats;
    }
    walks_.push_back(walk);
  }

  const Fabric& fabric_;
  Axis axis_;
  std::span<const ChainJob> jobs_;
  bool high_;
  std::vector<Walk> walks_;
  Packets incoming_;
  Packets outgoing_;
  std::size_t kept_floats_ = 0;
  std::unique_ptr<float[]> kept_;
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
