#include "plmr/ring_reduction.hpp"

#include "mesh/queue.hpp"
#include "plmr/ring_line.hpp"
#include "plmr/ring_product.hpp"

namespace wafer::plmr {

using mesh::Axis;

namespace {

template <class Clock>
class Line {
public:
  Line(Execution& execution, std::vector<Clock>& clocks, const RingLine& ring, Axis axis)
      : execution_(execution), device_(execution.device()), clocks_(clocks), ring_(ring), axis_(axis) {}

  void run(Index line, const RingReduction& reduction, Index length) {
    const Index n = ring_.size();
    const auto sizes = part_sizes(length, n);
    std::vector<Ticks> words(at(2 * n)), sums(at(2 * n));  // chunk c + n is chunk c
    std::int64_t sent = 0, messages = 0, word_hops = 0;
    for (Index c = 0; c < 2 * n; ++c) {
      const Index chunk = sizes[at(c % n)];
      words[at(c)] = reduction.words_of(chunk) * device_.word;
      sums[at(c)] = execution_.cost().vector(chunk);
    }
    std::vector<Clock> now(at(n)), then(at(n));
    const auto core = [&](Index p) { return core_at(line, reduction.origin + ring_.places[at(p)]); };
    for (Index p = 0; p < n; ++p) now[at(p)] = clocks_[core(p)];
    const bool rendezvous = device_.channel == Channel::rendezvous;
    for (const bool adds : {true, false})
      for (Index round = 0; round + 1 < n; ++round) {
        for (Index p = 0; p < n; ++p) {
          const Index from = (p + 1) % n;
          // Position p sends chunk p + 1 + round while chunks are summed, p + round while they go round.
          const Index out = (p + round + (adds ? 1 : 0)) % n;
          const Index chunk = (out + 1) % n;
          const Clock posted = after(now[at(p)], device_.shift);
          Clock sender = after(now[at(from)], device_.shift);
          if (rendezvous) sender = later(sender, posted);
          Clock time = posted;
          if (words[at(chunk)] > 0)
            time = later(posted,
                         after(travelled(sender, ring_.latency[at(p)], ring_.hops[at(p)]), words[at(chunk)]));
          if (rendezvous && words[at(out)] > 0) {
            const Clock receiver = after(now[at((p + n - 1) % n)], device_.shift);
            time = later(time, after(later(posted, receiver), words[at(out)]));
          }
          if (adds) {
            time = computed(time, sums[at(chunk)]);
            execution_.compute_ticks()[core(p)] += sums[at(chunk)];
          }
          then[at(p)] = time;
          const Index w = reduction.words_of(sizes[at(chunk)]);
          sent += w;
          messages += w > 0 ? 1 : 0;
          word_hops += w * ring_.hops[at(p)];
        }
        now.swap(then);
      }
    for (Index p = 0; p < n; ++p) {
      clocks_[core(p)] = now[at(p)];
      execution_.software_ticks()[core(p)] += 2 * (n - 1) * device_.shift;
    }
    execution_.count(messages, sent, word_hops, messages > 0 ? ring_.longest : 0);
  }

private:
  std::size_t core_at(Index line, Index place) const {
    const mesh::CoreCoord core = mesh::core_at(axis_, line, place);
    return at(core.y * execution_.mesh().width + core.x);
  }
  Execution& execution_;
  const Device& device_;
  std::vector<Clock>& clocks_;
  const RingLine& ring_;
  Axis axis_;
};

}  // namespace

void ring_reduce(Execution& execution, Axis axis, const RingReduction& reduction) {
  if (reduction.cores < 2) return;
  const mesh::QueueLine queue(mesh::Ring(reduction.cores), reduction.cores);
  const RingLine ring(execution.device(), queue, axis, reduction.origin);
  execution.visit([&]<class Clock>(std::vector<Clock>& clocks) {
    Line<Clock> line_of(execution, clocks, ring, axis);
    for (Index line = reduction.lines.begin; line < reduction.lines.end; ++line)
      line_of.run(line, reduction, reduction.lengths[at(line - reduction.lines.begin)]);
  });
  execution.use_routes(axis == Axis::x ? "ring along X" : "ring along Y", ring_routes(reduction.cores));
}

}  // namespace wafer::plmr
