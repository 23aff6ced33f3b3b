#pragma once

#include <deque>
#include <vector>

#include "mesh/ring.hpp"
#include "plmr/execution.hpp"
#include "support/catch.hpp"

namespace wafer::test {

using plmr::Ticks;

/// The cores of a line in the order of their ring. Interleaved: the odd places upwards, then the even ones
/// back down.
inline std::vector<Index> ring_order(Index n, mesh::Ring::Order order) {
  std::vector<Index> places;
  if (order == mesh::Ring::Order::natural)
    for (Index place = 0; place < n; ++place) places.push_back(place);
  if (!places.empty()) return places;
  places.push_back(0);
  for (Index place = 1; place < n; place += 2) places.push_back(place);
  for (Index place = (n - 1) / 2 * 2; place > 0; place -= 2) places.push_back(place);
  return places;
}

/// The blocks on one line of cores, in a queue at every place, and moved one by one.
class NaiveRing {
public:
  struct Move {
    Index from, to;  // places
    Index block;
  };

  /// Slot s, counted along the ring, holds block s + skew.
  NaiveRing(Index cores, Index blocks, Index skew, mesh::Ring::Order order)
      : order_(ring_order(cores, order)), queues_(at(cores)) {
    Index slot = 0;
    for (Index p = 0; p < cores; ++p)
      for (Index k = 0; k < blocks / cores + (p < blocks % cores ? 1 : 0); ++k)
        queues_[at(order_[at(p)])].push_back(wrap(skew + slot++, blocks));
  }

  bool moves() const { return order_.size() > 1; }
  Index front(Index place) const { return queues_[at(place)].front(); }
  bool holds(Index place, Index block) const {
    const auto& queue = queues_[at(place)];
    return std::find(queue.begin(), queue.end(), block) != queue.end();
  }

  /// Every front goes to the end of the queue at the position before.
  std::vector<Move> forward() {
    const auto n = static_cast<Index>(order_.size());
    std::vector<Move> moves;
    for (Index p = 0; p < n; ++p) {
      auto& queue = queues_[at(order_[at(p)])];
      moves.push_back({order_[at(p)], order_[at(wrap(p - 1, n))], queue.front()});
      queue.pop_front();
    }
    for (const Move& move : moves) queues_[at(move.to)].push_back(move.block);
    return moves;
  }
  /// Every end goes to the front of the queue at the position after.
  std::vector<Move> backward() {
    const auto n = static_cast<Index>(order_.size());
    std::vector<Move> moves;
    for (Index p = 0; p < n; ++p) {
      auto& queue = queues_[at(order_[at(p)])];
      moves.push_back({order_[at(p)], order_[at(wrap(p + 1, n))], queue.back()});
      queue.pop_back();
    }
    for (const Move& move : moves) queues_[at(move.to)].push_front(move.block);
    return moves;
  }

private:
  std::vector<Index> order_;  // places by position
  std::vector<std::deque<Index>> queues_;
};

/// The clocks of a mesh, core by core and message by message, straight from the rules of the model.
class NaiveMesh {
public:
  /// Begins where an execution is.
  explicit NaiveMesh(const plmr::Execution& execution)
      : device(execution.device()),
        cost(execution.cost()),
        mesh(execution.mesh()),
        clock(execution.clocks()),
        start_(clock),
        compute_(clock.size(), 0),
        software_(clock.size(), 0) {}

  const plmr::Device& device;
  const plmr::Cost& cost;
  mesh::Mesh mesh;
  std::vector<Ticks> clock;  // (H, W)

  std::size_t core(Index y, Index x) const { return at(y * mesh.width + x); }

  void compute(std::size_t core, Ticks ticks) {
    clock[core] += ticks;
    compute_[core] += ticks;
  }
  void handle(std::size_t core, Ticks ticks) {
    clock[core] += ticks;
    software_[core] += ticks;
  }
  void enter() {
    for (std::size_t core = 0; core < clock.size(); ++core) handle(core, device.operator_entry);
  }

  // Asynchronous transfers.

  struct Transfer {
    std::size_t from, to;
    Index words;
  };
  /// Every core waits for what it gets and, with rendezvous, for what it sends. `posted`: when each core had
  /// posted its transfers.
  void wait_for(const std::vector<Transfer>& transfers, const std::vector<Ticks>& posted) {
    for (const Transfer& transfer : transfers) {
      if (transfer.words == 0) continue;
      const bool rendezvous = device.channel == plmr::Channel::rendezvous;
      Ticks starts = posted[transfer.from];
      if (rendezvous) starts = std::max(starts, posted[transfer.to]);
      const Ticks last_left = starts + transfer.words * device.word;
      clock[transfer.to] = std::max(clock[transfer.to], last_left + latency(transfer.from, transfer.to));
      if (rendezvous) clock[transfer.from] = std::max(clock[transfer.from], last_left);
      count(transfer.words, transfer.words, hops(transfer.from, transfer.to));
    }
  }

  // Streams.

  struct Stream {
    std::size_t from;  // the core it left
    Index words;
    Ticks first, last;  // when its first and its last word left
  };
  Stream send(std::size_t core, Index words) {
    const Ticks first = clock[core] + device.operation;
    handle(core, device.operation + words * device.word);
    return {core, words, first, first + (words - 1) * device.word};
  }
  /// Receive, combine, send on: cut-through.
  Stream pass(std::size_t core, const Stream& in) {
    const Ticks travel = latency(in.from, core);
    const Ticks first = std::max(clock[core] + device.operation, in.first + travel) + device.stage;
    const Ticks last = std::max(first + (in.words - 1) * device.word, in.last + travel + device.stage);
    clock[core] = last + device.word;
    software_[core] += device.operation + device.stage + in.words * device.word;
    count(in.words, in.words, hops(in.from, core));
    return {core, in.words, first, last};
  }
  void receive(std::size_t core, const Stream& in) {
    const Ticks ready = clock[core] + device.operation + in.words * device.word;
    clock[core] = std::max(ready, in.last + latency(in.from, core) + device.word);
    software_[core] += device.operation + in.words * device.word;
  }
  /// Both sides of a chain of cores, the high one first.
  void chain(const std::vector<std::size_t>& members, std::size_t root, Index words) {
    if (words == 0) return;
    const auto side = [&](std::size_t end, std::size_t inwards) {
      if (end == root) return;
      Stream stream = send(members[end], words);
      for (std::size_t m = end; m != root; m += inwards) stream = pass(members[m + inwards], stream);
    };
    side(members.size() - 1, static_cast<std::size_t>(-1));
    side(0, 1);
  }
  /// To the cores after the root, then to those before it.
  void multicast(const std::vector<std::size_t>& members, std::size_t root, Index words) {
    if (words == 0) return;
    const auto side = [&](std::size_t begin, std::size_t end, std::size_t farthest) {
      if (begin == end) return;
      const Stream stream = send(members[root], words);
      for (std::size_t m = begin; m < end; ++m) receive(members[m], stream);
      count(words, words * static_cast<Index>(end - begin), hops(members[root], members[farthest]));
    };
    side(root + 1, members.size(), members.size() - 1);
    side(0, root, 0);
  }

  /// What an operator that began with this object has cost.
  plmr::Charge charge() const {
    plmr::Charge charge = sent_;
    charge.calls = 1;
    std::size_t last = 0;
    for (std::size_t core = 0; core < clock.size(); ++core) {
      const Ticks advance = clock[core] - start_[core];
      charge.advance_all += advance;
      charge.compute_all += compute_[core];
      charge.software_all += software_[core];
      charge.exposed_all += exposed(core);
      charge.compute_most = std::max(charge.compute_most, compute_[core]);
      charge.exposed_most = std::max(charge.exposed_most, exposed(core));
      if (clock[core] > clock[last]) last = core;
    }
    charge.exposed_last = exposed(last);
    charge.cycles = clock[last] - *std::max_element(start_.begin(), start_.end());
    return charge;
  }

private:
  Ticks exposed(std::size_t core) const {
    return clock[core] - start_[core] - compute_[core] - software_[core];
  }
  static Index apart(Index a, Index b) { return a < b ? b - a : a - b; }
  Index hops(std::size_t a, std::size_t b) const {
    const auto from = static_cast<Index>(a), to = static_cast<Index>(b);
    return apart(from / mesh.width, to / mesh.width) + apart(from % mesh.width, to % mesh.width);
  }
  Ticks latency(std::size_t a, std::size_t b) const {
    Ticks ticks = 2 * device.ramp + plmr::ticks_per_cycle + hops(a, b) * device.hop;
    const Index top = static_cast<Index>(std::min(a, b)) / mesh.width;
    const Index bottom = static_cast<Index>(std::max(a, b)) / mesh.width;
    for (Index row = top + 1; row <= bottom; ++row)
      if (device.die_rows > 0 && row % device.die_rows == 0) ticks += device.die_border;
    return ticks;
  }
  void count(Index words, Index received, Index path) {
    ++sent_.messages;
    sent_.words += received;
    sent_.word_hops += words * path;
    sent_.longest_path = std::max(sent_.longest_path, path);
  }

  std::vector<Ticks> start_, compute_, software_;
  plmr::Charge sent_;
};

/// The execution's clocks, and its last operator's charge but for the routes, are those of the naive mesh.
inline void check_same(const plmr::Execution& execution, const NaiveMesh& naive) {
  CHECK(execution.clocks() == naive.clock);
  const plmr::Charge got = execution.ledger().entries().back().charge;
  const plmr::Charge expected = naive.charge();
  CHECK(got.messages == expected.messages);
  CHECK(got.words == expected.words);
  CHECK(got.word_hops == expected.word_hops);
  CHECK(got.longest_path == expected.longest_path);
  CHECK(got.compute_all == expected.compute_all);
  CHECK(got.software_all == expected.software_all);
  CHECK(got.exposed_all == expected.exposed_all);
  CHECK(got.exposed_most == expected.exposed_most);
  CHECK(got.exposed_last == expected.exposed_last);
  CHECK(got.compute_most == expected.compute_most);
  CHECK(got.cycles == expected.cycles);
  CHECK(got.calls == 1);
  CHECK(got.exposed_all >= 0);
  CHECK(got.compute_all + got.software_all + got.exposed_all == got.advance_all);
}

}  // namespace wafer::test
