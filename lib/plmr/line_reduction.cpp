#include "plmr/line_reduction.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/vector_clones.hpp"

namespace wafer::plmr {

using mesh::Axis, mesh::Range;

namespace {

// Neighbouring lines that do the same, one a lane: a stream on its way on every one of them. Lanes without
// words are worked out like the others, but leave their cores alone.
template <class Clock>
struct Lanes {
  Clock* first;  // when its first and its last word left
  Clock* last;
  const Ticks* words;  // ticks
  std::size_t count;
  Ticks post;  // what a core pays to start it or to take part in it
  Ticks stage;
  Ticks word;
};

// The way of a stream from core to core.
struct Way {
  Ticks latency;
  Index hops;
};

template <class Clock>
inline __attribute__((always_inline)) void send_from(Clock* __restrict own, const Lanes<Clock>& lanes) {
  Clock* __restrict first_of = lanes.first, * __restrict last_of = lanes.last;
  const Ticks *words = lanes.words, post = lanes.post, word = lanes.word;
  for (std::size_t lane = 0; lane < lanes.count; ++lane) {
    const Clock first = after(own[lane], post);
    first_of[lane] = first;
    last_of[lane] = after(first, words[lane] - word);
    own[lane] = words[lane] > 0 ? after(first, words[lane]) : own[lane];
  }
}

template <class Clock>
inline __attribute__((always_inline)) void pass_on(Clock* __restrict own, const Lanes<Clock>& lanes,
                                                   const Way& way) {
  Clock* __restrict first_of = lanes.first, * __restrict last_of = lanes.last;
  const Ticks *words = lanes.words, post = lanes.post, stage = lanes.stage, word = lanes.word;
  for (std::size_t lane = 0; lane < lanes.count; ++lane) {
    const Clock first_in = travelled(first_of[lane], way.latency, way.hops);
    const Clock last_in = travelled(last_of[lane], way.latency, way.hops);
    const Clock first = staged(later(after(own[lane], post), first_in), stage);
    const Clock last = later(after(first, words[lane] - word), staged(last_in, stage));
    first_of[lane] = first;
    last_of[lane] = last;
    own[lane] = words[lane] > 0 ? after(last, word) : own[lane];
  }
}

template <class Clock>
inline __attribute__((always_inline)) void receive_at(Clock* __restrict own, const Lanes<Clock>& lanes,
                                                      const Way& way) {
  const Clock* last = lanes.last;
  const Ticks *words = lanes.words, post = lanes.post, word = lanes.word;
  for (std::size_t lane = 0; lane < lanes.count; ++lane) {
    const Clock end = later(after(own[lane], post + words[lane]),
                            after(travelled(last[lane], way.latency, way.hops), word));
    own[lane] = words[lane] > 0 ? end : own[lane];
  }
}

// What one core does about a stream.
struct Step {
  enum class Kind { send, pass, receive } kind;
  Index place;
  Way way;  // from where it comes
};

template <class Clock>
inline __attribute__((always_inline)) void run_steps(Clock* base, Index next, const Lanes<Clock>& lanes,
                                                     const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    Clock* own = base + step.place * next;
    if (step.kind == Step::Kind::send)
      send_from(own, lanes);
    else if (step.kind == Step::Kind::pass)
      pass_on(own, lanes, step.way);
    else
      receive_at(own, lanes, step.way);
  }
}

// Loops over Ticks are made for several vector units.
WAFER_VECTOR_CLONES void run_lanes(Ticks* base, Index next, const Lanes<Ticks>& lanes,
                                   const std::vector<Step>& steps) {
  run_steps(base, next, lanes, steps);
}
void run_lanes(Trace* base, Index next, const Lanes<Trace>& lanes, const std::vector<Step>& steps) {
  run_steps(base, next, lanes, steps);
}

// The lines of a movement, and the stretch of places on each that takes part.
struct Stretch {
  Axis axis;
  Range lines;
  Index origin;  // of the places
  Range places;
};

}  // namespace

// The streams of one line, whatever their words: what its cores do about them, and what is sent.
class Streams {
public:
  Streams(const Device& device, const Stretch& stretch)
      : device_(&device), stretch_(stretch), parts_(at(stretch.places.size())) {}

  /// Level by level, both sides of a chain; the root receives, combines and would send the result on.
  void reduce(const mesh::ReductionTree& tree) {
    for (const auto& level : tree.levels())
      for (const mesh::Chain& chain : level) run_chain(chain);
  }
  /// Upwards, then downwards.
  void multicast(Index root) {
    const Range places = stretch_.places;
    if (root + 1 < places.end) side(root, {root + 1, places.end});
    if (places.begin < root) side(root, {places.begin, root});
  }

  const std::vector<Step>& steps() const { return steps_; }
  /// Charges what lines with these words send, and how long their cores handle that.
  void charge(Execution& execution, Range lines, std::span<const Index> words, Ticks post) const {
    const Ticks word = execution.device().word, stage = execution.device().stage;
    const Index width = execution.mesh().width;
    const bool rows = stretch_.axis == Axis::x;
    const Index next_line = rows ? width : 1, next_place = rows ? 1 : width;
    Ticks* software = execution.software_ticks().data() + lines.begin * next_line +
                      (stretch_.origin + stretch_.places.begin) * next_place;
    Index all_words = 0, streams = 0;
    for (const Index w : words) {
      Ticks* core = software;
      software += next_line;
      if (w == 0) continue;
      ++streams;
      all_words += w;
      const Ticks each = post + w * word;
      for (const Part& part : parts_) {
        *core += part.streams * each + part.stages * stage;
        core += next_place;
      }
    }
    execution.count(messages_ * streams, received_ * all_words, hops_ * all_words,
                    streams > 0 ? longest_ : 0);
  }

private:
  struct Part {
    Index streams = 0;  // that a core sends, passes on or receives
    Index stages = 0;   // ... and combines
  };
  Part& part(Index place) { return parts_[at(place - stretch_.places.begin)]; }
  void send(Index place) {
    steps_.push_back({Step::Kind::send, place, {}});
    ++part(place).streams;
  }
  void pass(Index from, Index place) {
    steps_.push_back({Step::Kind::pass, place, way(from, place)});
    ++part(place).streams;
    ++part(place).stages;
    count(1, std::abs(place - from));
  }
  void run_chain(const mesh::Chain& chain) {
    const auto& members = chain.members;
    const auto count = static_cast<Index>(members.size());
    if (chain.root < count - 1) {
      send(members.back());
      for (Index m = count - 2; m >= chain.root; --m) pass(members[at(m + 1)], members[at(m)]);
    }
    if (chain.root > 0) {
      send(members.front());
      for (Index m = 1; m <= chain.root; ++m) pass(members[at(m - 1)], members[at(m)]);
    }
  }
  void side(Index root, Range places) {
    send(root);
    for (Index place = places.begin; place < places.end; ++place) {
      steps_.push_back({Step::Kind::receive, place, way(root, place)});
      ++part(place).streams;
    }
    count(places.size(), std::max(std::abs(places.begin - root), std::abs(places.end - 1 - root)));
  }
  Way way(Index from, Index to) const {
    return {device_->latency(stretch_.axis, stretch_.origin + from, stretch_.origin + to),
            std::abs(to - from)};
  }
  void count(Index receivers, Index reach) {
    ++messages_;
    received_ += receivers;
    hops_ += reach;
    longest_ = std::max(longest_, reach);
  }
  const Device* device_;
  Stretch stretch_;
  std::vector<Step> steps_;
  std::vector<Part> parts_;  // (places)
  Index messages_ = 0, received_ = 0, hops_ = 0, longest_ = 0;
};

struct LineStreams {
  Streams reduce;
  Streams result;
};

namespace {

std::vector<Ticks> in_ticks(std::span<const Index> words, Ticks word) {
  std::vector<Ticks> ticks;
  ticks.reserve(words.size());
  for (const Index w : words) ticks.push_back(w * word);
  return ticks;
}

// What the streams do to the clocks of the mesh: those towards the roots, then those from there. Without
// words, nothing.
class Movement {
public:
  Movement(const Execution& execution, const Stretch& stretch, Ticks post,
           std::shared_ptr<const LineStreams> streams)
      : stretch_(stretch),
        width_(execution.mesh().width),
        post_(post),
        stage_(execution.device().stage),
        word_(execution.device().word),
        streams_(std::move(streams)) {}

  void run(Execution& execution, std::span<const Index> reduce_words, std::span<const Index> result_words) {
    for (const auto& [streams, words] :
         {std::pair(&streams_->reduce, reduce_words), std::pair(&streams_->result, result_words)})
      if (!words.empty()) streams->charge(execution, stretch_.lines, words, post_);
    reduce_ticks_ = in_ticks(reduce_words, word_);
    result_ticks_ = in_ticks(result_words, word_);
    execution.move(std::move(*this));
  }

  template <class Clock>
  void operator()(std::vector<Clock>& clocks) const {
    constexpr Index most = 64;  // lines at a time, so that they stay in the cache
    const Range lines = stretch_.lines, places = stretch_.places;
    const bool rows = stretch_.axis == Axis::x;
    const std::size_t count = at(std::min(most, lines.size()));
    std::vector<Clock> memory((2 + (rows ? at(places.size()) : 0)) * count);
    for (Index begin = lines.begin; begin < lines.end; begin += most) {
      const Range some{begin, std::min(begin + most, lines.end)};
      Lanes<Clock> lanes{memory.data(), memory.data() + count, nullptr, at(some.size()), post_, stage_,
                         word_};
      Clock* own = clocks.data() + (stretch_.origin * width_ + begin);  // of place 0, if columns are lanes
      Index next = width_;
      if (rows) {  // they lie across the lanes
        next = some.size();
        own = memory.data() + 2 * count - places.begin * next;
        turn(clocks, some, [&](Index lane, Index place, Clock& clock) { own[place * next + lane] = clock; });
      }
      for (const auto& [streams, ticks] :
           {std::pair(&streams_->reduce, &reduce_ticks_), std::pair(&streams_->result, &result_ticks_)}) {
        if (ticks->empty()) continue;
        lanes.words = ticks->data() + (begin - lines.begin);
        run_lanes(own, next, lanes, streams->steps());
      }
      if (rows)
        turn(clocks, some, [&](Index lane, Index place, Clock& clock) { clock = own[place * next + lane]; });
    }
  }

private:
  // f(lane, place, clock) for every core of some rows.
  template <class Clock, class F>
  void turn(std::vector<Clock>& clocks, Range lines, F f) const {
    for (Index line = lines.begin; line < lines.end; ++line) {
      Clock* row = clocks.data() + (line * width_ + stretch_.origin);
      for (Index place = stretch_.places.begin; place < stretch_.places.end; ++place)
        f(line - lines.begin, place, row[place]);
    }
  }
  Stretch stretch_;
  Index width_;
  Ticks post_, stage_, word_;
  std::shared_ptr<const LineStreams> streams_;
  std::vector<Ticks> reduce_ticks_, result_ticks_;  // (lines)
};

void reduce_group(Execution& execution, Axis axis, const LineGroup& group) {
  const Device& device = execution.device();
  const Index places = group.tree->levels().front().back().members.back() + 1;
  const Stretch stretch{axis, group.lines, group.origin, {0, places}};
  if (group.streams == nullptr) {
    LineStreams streams{{device, stretch}, {device, stretch}};
    streams.reduce.reduce(*group.tree);
    streams.result.multicast(group.tree->root());
    group.streams = std::make_shared<const LineStreams>(std::move(streams));
  }
  Movement(execution, stretch, device.operation, group.streams)
      .run(execution, group.reduce_words, group.result_words);
}

void multicast(Execution& execution, const Stretch& stretch, Index root, std::span<const Index> words,
               Ticks post) {
  LineStreams streams{{execution.device(), stretch}, {execution.device(), stretch}};
  streams.result.multicast(root);
  Movement(execution, stretch, post, std::make_shared<const LineStreams>(std::move(streams)))
      .run(execution, {}, words);
}

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
  for (const LineGroup& group : groups) {
    reduce_group(execution, axis, group);
    execution.use_routes(axis == Axis::x ? "reduction along X" : "reduction along Y",
                         tree_routes(*group.tree, !group.result_words.empty()));
  }
}

void multicast_lines(Execution& execution, Axis axis, Range lines, Range stretch, Index root,
                     std::span<const Index> words) {
  multicast(execution, {axis, lines, 0, stretch}, root, words, execution.device().operation);
  execution.use_routes(axis == Axis::x ? "multicast along X" : "multicast along Y", 2);
}

void multicast_in_turn(Execution& execution, Axis axis, Index root, std::span<const Index> words) {
  const mesh::Mesh mesh = execution.mesh();
  const Stretch whole{axis, {0, mesh.lines(axis)}, 0, {0, mesh.length(axis)}};
  multicast(execution, whole, root, words, execution.device().multicast);
}

}  // namespace wafer::plmr
