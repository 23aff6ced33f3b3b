#include "plmr/line_reduction.hpp"

#include <algorithm>
#include <cstdlib>

namespace wafer::plmr {

using mesh::Axis, mesh::Range;

namespace {

// A stream on the way, on every lane: when its first and its last word left.
template <class Clock>
struct Stream {
  Ticks post;  // what a core pays to start it or to take part in it
  std::vector<Clock> first;
  std::vector<Clock> last;
};

// Neighbouring lines that do the same, one a lane.
template <class Clock>
class Lanes {
public:
  Lanes(Execution& execution, std::vector<Clock>& clocks, Axis axis, Range lines, Index origin,
        std::span<const Index> words, Stream<Clock>& stream)
      : execution_(execution),
        device_(execution.device()),
        axis_(axis),
        lanes_(at(lines.size())),
        place_stride_(at(axis == Axis::x ? 1 : execution.mesh().width)),
        lane_stride_(at(axis == Axis::x ? execution.mesh().width : 1)),
        origin_(origin),
        base_(at(lines.begin) * lane_stride_ + at(origin) * place_stride_),
        clocks_(clocks.data() + base_),
        software_(execution.software_ticks().data() + base_),
        words_(words),
        stream_(stream) {
    stream_.first.resize(lanes_);
    stream_.last.resize(lanes_);
    for (const Index w : words) {
      total_words_ += w;
      if (w > 0) ++streams_;
    }
  }

  /// The core at `place` starts a stream.
  void send(Index place, Stream<Clock>& out) {
    for_lanes(place, [&](std::size_t lane, Clock& own, Ticks& software, Ticks words) {
      out.first[lane] = after(own, stream_.post);
      out.last[lane] = after(out.first[lane], words - device_.word);
      own = after(out.first[lane], words);
      software += stream_.post + words;
    });
  }

  /// Receive, combine, send on. For a chain's root, too: what it would send on is the result.
  void pass(Index from, Index place, Stream<Clock>& stream) {
    const Ticks latency = latency_between(from, place);
    const Index hops = std::abs(place - from);
    for_lanes(place, [&](std::size_t lane, Clock& own, Ticks& software, Ticks words) {
      const Clock first_in = travelled(stream.first[lane], latency, hops);
      const Clock last_in = travelled(stream.last[lane], latency, hops);
      const Clock first = staged(later(after(own, stream_.post), first_in), device_.stage);
      const Clock last = later(after(first, words - device_.word), staged(last_in, device_.stage));
      stream.first[lane] = first;
      stream.last[lane] = last;
      own = after(last, device_.word);
      software += stream_.post + device_.stage + words;
    });
    execution_.count(streams_, total_words_, total_words_ * hops, streams_ > 0 ? hops : 0);
  }

  /// A stream of the root's ends in the memory of the core at `place`.
  void receive(Index root, Index place, const Stream<Clock>& stream) {
    const Ticks latency = latency_between(root, place);
    const Index hops = std::abs(place - root);
    for_lanes(place, [&](std::size_t lane, Clock& own, Ticks& software, Ticks words) {
      own = later(after(own, stream_.post + words),
                  after(travelled(stream.last[lane], latency, hops), device_.word));
      software += stream_.post + words;
    });
  }

  void multicast(Index root, Index begin, Index end) {
    if (root + 1 < end) side(root, root + 1, end, end - 1 - root);
    if (begin < root) side(root, begin, root, root - begin);
  }

  void chain(const mesh::Chain& chain) {
    const auto& members = chain.members;
    const auto count = static_cast<Index>(members.size());
    if (chain.root < count - 1) {
      send(members.back(), stream_);
      for (Index m = count - 2; m >= chain.root; --m) pass(members[at(m + 1)], members[at(m)], stream_);
    }
    if (chain.root > 0) {
      send(members.front(), stream_);
      for (Index m = 1; m <= chain.root; ++m) pass(members[at(m - 1)], members[at(m)], stream_);
    }
  }

private:
  // f(lane, own clock, software ticks, ticks of the words), on the lanes that have words.
  template <class F>
  void for_lanes(Index place, F f) {
    Clock* clocks = clocks_ + at(place) * place_stride_;
    Ticks* software = software_ + at(place) * place_stride_;
    for (std::size_t lane = 0; lane < lanes_; ++lane)
      if (words_[lane] > 0)
        f(lane, clocks[lane * lane_stride_], software[lane * lane_stride_], words_[lane] * device_.word);
  }
  Ticks latency_between(Index from, Index to) const {
    return device_.latency(axis_, origin_ + from, origin_ + to);
  }
  void side(Index root, Index begin, Index end, Index reach) {
    send(root, stream_);
    for (Index place = begin; place < end; ++place) receive(root, place, stream_);
    execution_.count(streams_, total_words_ * (end - begin), total_words_ * reach, streams_ > 0 ? reach : 0);
  }

  Execution& execution_;
  const Device& device_;
  Axis axis_;
  std::size_t lanes_;
  std::size_t place_stride_;
  std::size_t lane_stride_;
  Index origin_;
  std::size_t base_;
  Clock* clocks_;
  Ticks* software_;
  std::span<const Index> words_;
  Index total_words_ = 0;
  Index streams_ = 0;      // lanes that have words
  Stream<Clock>& stream_;  // the one that is on its way
};

}  // namespace

Index tree_routes(const mesh::ReductionTree& tree, bool multicast) {
  Index routes = 0;
  for (const auto& level : tree.levels()) {
    const bool moves = std::any_of(level.begin(), level.end(),
                                   [](const mesh::Chain& chain) { return chain.members.size() > 1; });
    if (moves) routes += 2;  // one from either side at the root
  }
  return routes + (multicast && routes > 0 ? 2 : 0);
}

void reduce_lines(Execution& execution, Axis axis, std::span<const LineGroup> groups) {
  execution.visit([&]<class Clock>(std::vector<Clock>& clocks) {
    Stream<Clock> stream{execution.device().operation, {}, {}};
    for (const LineGroup& group : groups) {
      Lanes<Clock> reduce(execution, clocks, axis, group.lines, group.origin, group.reduce_words, stream);
      for (const auto& level : group.tree->levels())
        for (const mesh::Chain& chain : level) reduce.chain(chain);
      if (group.result_words.empty()) continue;
      Lanes<Clock> result(execution, clocks, axis, group.lines, group.origin, group.result_words, stream);
      result.multicast(group.tree->root(), 0, group.tree->levels().front().back().members.back() + 1);
    }
  });
  for (const LineGroup& group : groups)
    execution.use_routes(axis == Axis::x ? "reduction along X" : "reduction along Y",
                         tree_routes(*group.tree, !group.result_words.empty()));
}

void multicast_lines(Execution& execution, Axis axis, Range lines, Range stretch, Index root,
                     std::span<const Index> words) {
  execution.visit([&]<class Clock>(std::vector<Clock>& clocks) {
    Stream<Clock> stream{execution.device().operation, {}, {}};
    Lanes<Clock> lanes(execution, clocks, axis, lines, 0, words, stream);
    lanes.multicast(root, stretch.begin, stretch.end);
  });
  execution.use_routes(axis == Axis::x ? "multicast along X" : "multicast along Y", 2);
}

void multicast_in_turn(Execution& execution, Axis axis, Index root, std::span<const Index> words) {
  const mesh::Mesh mesh = execution.mesh();
  execution.visit([&]<class Clock>(std::vector<Clock>& clocks) {
    Stream<Clock> stream{execution.device().multicast, {}, {}};
    Lanes<Clock> lanes(execution, clocks, axis, {0, mesh.lines(axis)}, 0, words, stream);
    lanes.multicast(root, 0, mesh.length(axis));
  });
}

}  // namespace wafer::plmr
