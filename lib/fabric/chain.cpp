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
  std::size_t first_value = 0;        // of its members: its place among all values
  std::size_t room = 0;               // for those values
};

void put(std::span<const float> value, std::span<float> sum) {
  if (value.data() != sum.data()) std::copy(value.begin(), value.end(), sum.begin());
}

// Memory that a thread keeps: chains are as many as cores.
class Scratch {
public:
  std::span<float> take(std::size_t floats) {
    if (floats_.size() < floats) floats_.resize(floats);
    return std::span(floats_).first(floats);
  }

private:
  std::vector<float> floats_;
};

bool lies_here(const Fabric& fabric, Axis axis, const ChainJob& job) {
  const mesh::Range places = fabric.tile().places(axis);
  return places.contains(job.origin + job.chain->members.front()) &&
         places.contains(job.origin + job.chain->members.back());
}

// A chain whose members are all on this rank: nothing to hand over. All own values are made first, as the
// places go, which is how the blocks that they come from lie in memory; they are added in the chain's order.
void reduce_here(const ChainJob& job, Index number, const Reduction& reduction) {
  thread_local Scratch memory;
  thread_local std::vector<std::span<const float>> values;
  const std::vector<Index>& members = job.chain->members;
  const auto floats = at(job.length);
  const std::span<float> rooms = memory.take(members.size() * floats);
  const auto room = [&](std::size_t member) { return rooms.subspan(member * floats, floats); };
  values.clear();
  for (std::size_t m = 0; m < members.size(); ++m)
    values.push_back(reduction.value(number, job.origin + members[m], room(m)));

  const auto root = at(job.chain->root);
  const std::span<float> sum = reduction.result(number);
  put(values[root], sum);
  if (const std::size_t last = members.size() - 1; last > root) {
    const std::span<float> side = room(last);
    put(values[last], side);
    for (std::size_t m = last - 1; m > root; --m) reduction.combine(values[m], side);
    reduction.combine(side, sum);
  }
  if (root > 0) {
    const std::span<float> side = room(0);
    put(values[0], side);
    for (std::size_t m = 1; m < root; ++m) reduction.combine(values[m], side);
    reduction.combine(side, sum);
  }
}

// The side of those `numbers` of the jobs, which cross ranks, that comes from the higher members, or from the
// lower ones.
class Side {
public:
  Side(const Fabric& fabric, Axis axis, std::span<const ChainJob> jobs, std::span<const Index> numbers,
       bool high)
      : fabric_(fabric), axis_(axis), jobs_(jobs), high_(high), exchange_(fabric.communicator()) {
    walks_.reserve(numbers.size());
    for (const Index number : numbers) add(number);
    incoming_.allocate();
    outgoing_.allocate();
    kept_ = std::make_unique_for_overwrite<float[]>(kept_floats_);
    room_ = std::make_unique_for_overwrite<float[]>(room_floats_);
    values_.resize(value_count_);
    incoming_.receive(exchange_);
  }

  /// What needs nothing from other ranks: the cores' own values, and sums that begin here.
  void begin(const Reduction& reduction) {
    fabric_.parallel(static_cast<Index>(walks_.size()), [&](Index w) { begin(walks_[at(w)], reduction); });
    if (incoming_.empty()) outgoing_.send(exchange_);
  }

  void finish(const Reduction& reduction) {
    if (incoming_.empty()) return;
    exchange_.wait();
    fabric_.parallel(static_cast<Index>(walks_.size()), [&](Index w) { finish(walks_[at(w)], reduction); });
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

  // The m-th member on the way to the root.
  Index place_of(const Walk& walk, Index m) const {
    const ChainJob& job = jobs_[at(walk.job)];
    const Index member = high_ ? walk.members.end - 1 - m : walk.members.begin + m;
    return job.origin + job.chain->members[at(member)];
  }

  void begin(const Walk& walk, const Reduction& reduction) {
    const Index count = walk.members.size();
    const std::span<float> sum = sum_of(walk);
    const auto values = std::span(values_).subspan(walk.first_value, at(count));
    for (Index k = 0; k < count; ++k) {  // as the places go, like reduce_here()
      const Index m = high_ ? count - 1 - k : k;
      const bool begins = m == 0 && !walk.from;
      float* room = begins ? sum.data() : room_.get() + walk.room + at(m) * sum.size();
      values[at(m)] = reduction.value(walk.job, place_of(walk, m), {room, sum.size()});
    }
    if (walk.from) return;
    put(values[0], sum);
    for (const auto& value : values.subspan(1)) reduction.combine(value, sum);
  }

  void finish(const Walk& walk, const Reduction& reduction) const {
    if (!walk.from) return;
    const std::span<float> sum = sum_of(walk);
    std::copy_n(incoming_.at(*walk.from), sum.size(), sum.begin());
    for (Index m = 0; m < walk.members.size(); ++m) reduction.combine(values_[walk.first_value + at(m)], sum);
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
    if (begin == end) return;
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
    walk.first_value = value_count_;
    value_count_ += at(walk.members.size());
    walk.room = room_floats_;
    room_floats_ += at(walk.members.size()) * floats;
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
  std::size_t value_count_ = 0;
  std::vector<std::span<const float>> values_;  // the cores' own
  std::size_t room_floats_ = 0;
  std::unique_ptr<float[]> room_;  // for those values
  Exchange exchange_;
};

}  // namespace

void reduce_chains(const Fabric& fabric, Axis axis, std::span<const ChainJob> jobs,
                   const Reduction& reduction) {
  if (fabric.dry()) return;
  std::vector<Index> here, crossing;
  here.reserve(jobs.size());
  for (Index number = 0; number < static_cast<Index>(jobs.size()); ++number) {
    if (jobs[at(number)].length == 0) continue;
    (lies_here(fabric, axis, jobs[at(number)]) ? here : crossing).push_back(number);
  }
  const auto reduce_all_here = [&] {
    fabric.parallel(static_cast<Index>(here.size()),
                    [&](Index k) { reduce_here(jobs[at(here[at(k)])], here[at(k)], reduction); });
  };
  if (crossing.empty()) return reduce_all_here();
  Side high(fabric, axis, jobs, crossing, true);
  Side low(fabric, axis, jobs, crossing, false);
  high.begin(reduction);
  low.begin(reduction);
  reduce_all_here();  // while messages are on their way
  const auto for_roots = [&](auto visit) {
    fabric.parallel(static_cast<Index>(crossing.size()), [&](Index k) {
      const ChainJob& job = jobs[at(crossing[at(k)])];
      const Index root = job.origin + job.chain->root_place();
      if (fabric.tile().contains(mesh::core_at(axis, job.line, root)))
        visit(crossing[at(k)], root, reduction.result(crossing[at(k)]));
    });
  };
  for_roots(
      [&](Index number, Index root, std::span<float> sum) { put(reduction.value(number, root, sum), sum); });

  high.finish(reduction);
  low.finish(reduction);
  std::vector<std::span<const float>> from_high(jobs.size());
  std::vector<std::span<const float>> from_low(jobs.size());
  high.collect(from_high);
  low.collect(from_low);
  for_roots([&](Index number, Index, std::span<float> sum) {
    if (!from_high[at(number)].empty()) reduction.combine(from_high[at(number)], sum);
    if (!from_low[at(number)].empty()) reduction.combine(from_low[at(number)], sum);
  });
  high.wait();
  low.wait();
}

}  // namespace wafer::fabric
