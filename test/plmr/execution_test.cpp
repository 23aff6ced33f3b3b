#include "plmr/execution.hpp"

#include "plmr/dice.hpp"
#include "plmr/line_reduction.hpp"
#include "plmr/line_shift.hpp"
#include "plmr/ring_product.hpp"
#include "support/catch.hpp"

using wafer::at, wafer::Index;
using namespace wafer::plmr;
using wafer::mesh::Axis, wafer::mesh::CoreCoord, wafer::mesh::KTree, wafer::mesh::Mesh,
    wafer::mesh::QueuePlan;
using wafer::test::Dice;

namespace {

// A product and a reduction along either axis, without a wait for anybody.
void run_layer(Execution& execution) {
  const Mesh mesh = execution.mesh();
  const auto sizes = [](Index count) { return std::vector<Index>(at(count), 3); };
  {
    const Operator charged(&execution, "product");
    ring_product(execution, QueuePlan(mesh),
                 {sizes(mesh.height), sizes(std::max(mesh.height, mesh.width)), sizes(mesh.width)});
  }
  for (const Axis axis : {Axis::x, Axis::y}) {
    const Operator charged(&execution, axis == Axis::x ? "norm" : "softmax");
    const KTree tree(mesh.length(axis), 2);
    const LineGroup group{{0, mesh.lines(axis)}, 0, &tree, sizes(mesh.lines(axis)), sizes(mesh.lines(axis))};
    reduce_lines(execution, axis, std::span(&group, 1));
  }
}

// What decode's operators do: work, a reduction with and without a multicast, a shift.
void run_reductions(Execution& execution, const std::vector<Index>& words, const std::vector<bool>& rows) {
  const Mesh mesh = execution.mesh();
  for (const Axis axis : {Axis::x, Axis::y}) {
    const Operator charged(&execution, axis == Axis::x ? "norm" : "softmax");
    execution.enter();
    execution.compute([](Index y, Index x) { return 100 * (y + 1) + 10 * x; });
    const KTree tree(mesh.length(axis), 2);
    const std::vector<Index> of_lines(words.begin(), words.begin() + mesh.lines(axis));
    LineGroup group{{0, mesh.lines(axis)}, 0, &tree, of_lines, {}};
    if (axis == Axis::y) group.result_words = of_lines;
    reduce_lines(execution, axis, std::span(&group, 1));
  }
  const Operator charged(&execution, "cache");
  hand_up(execution, rows, std::span(words).first(at(mesh.width)));
}

}  // namespace

TEST_CASE("layers that repeat may be multiplied instead of run", "[plmr]") {
  Dice dice(1);
  for (const Mesh mesh : {Mesh{1, 1}, Mesh{4, 4}, Mesh{5, 3}, Mesh{2, 7}})
    for (int trial = 0; trial < 5; ++trial) {
      CAPTURE(mesh.height, mesh.width, trial);
      const Device device = dice.device(Channel::rendezvous);
      Execution run(device, mesh, {}), multiplied(device, mesh, {});
      for (Execution* execution : {&run, &multiplied})
        for (int warm = 0; warm < 3; ++warm) run_layer(*execution);
      for (int layer = 0; layer < 6; ++layer) run_layer(run);
      const Execution::Mark mark = multiplied.mark();
      run_layer(multiplied);
      multiplied.repeat_since(mark, 5);
      CHECK(multiplied.clocks() == run.clocks());
      CHECK(multiplied.ledger() == run.ledger());
      CHECK(multiplied.computed_so_far() == run.computed_so_far());
    }
}

TEST_CASE("a span that is known already costs what running it would cost", "[plmr]") {
  Dice dice(2);
  for (const Mesh mesh : {Mesh{1, 1}, Mesh{4, 4}, Mesh{5, 3}, Mesh{2, 7}})
    for (int trial = 0; trial < 5; ++trial) {
      CAPTURE(mesh.height, mesh.width, trial);
      const Device device = dice.device(Channel::rendezvous);
      Execution plain(device, mesh, {}), spans(device, mesh, {});
      int replayed = 0;
      for (Index token = 0; token < 3; ++token)
        for (Index layer = 0; layer < 8; ++layer) {
          for (Execution* execution : {&plain, &spans}) {
            execution->layer(layer);
            const Span span(execution == &spans ? execution : nullptr, 0, token);
            replayed += execution->replaying() ? 1 : 0;
            if (!execution->replaying()) run_layer(*execution);
            const Operator nothing(execution, "product");  // a replay does not count it again
          }
          if (layer == 3)  // the cores no longer stand alike
            for (Execution* execution : {&plain, &spans})
              execution->compute([](Index y, Index x) { return 1000 * (x + 2 * y); });
        }
      CHECK(replayed > 6);
      CHECK(spans.clocks() == plain.clocks());
      CHECK(spans.computed_so_far() == plain.computed_so_far());
      CHECK(spans.ledger() == plain.ledger());
    }
}

TEST_CASE("a span that is known from other clocks is run again from these", "[plmr]") {
  Dice dice(3);
  for (const Mesh mesh : {Mesh{1, 1}, Mesh{4, 4}, Mesh{5, 3}, Mesh{2, 7}})
    for (int trial = 0; trial < 5; ++trial) {
      CAPTURE(mesh.height, mesh.width, trial);
      const Device device = dice.device(dice.coin() ? Channel::rendezvous : Channel::eager);
      const auto words = dice.sizes(std::max(mesh.height, mesh.width), 9);
      std::vector<bool> rows;
      for (Index y = 0; y < mesh.height; ++y) rows.push_back(y > 0 && dice.coin());
      Execution plain(device, mesh, {}), spans(device, mesh, {});
      int known = 0;
      for (Index token = 0; token < 8; ++token) {
        const Index skew = dice.roll(0, 5000), key = token / 5;
        for (Execution* execution : {&plain, &spans}) {
          execution->compute([&](Index y, Index x) { return skew * ((x * 7 + y * 3) % 5); });
          const Span span(execution == &spans ? execution : nullptr, 0, key);
          known += span.known() ? 1 : 0;
          if (!span.known()) run_reductions(*execution, words, rows);
        }
      }
      CHECK(known == 8 - 2);
      CHECK(spans.clocks() == plain.clocks());
      CHECK(spans.computed_so_far() == plain.computed_so_far());
      CHECK(spans.ledger() == plain.ledger());
    }
}

TEST_CASE("movements that cannot be called again are run anew", "[plmr]") {
  Execution plain(Dice(4).device(Channel::rendezvous), {4, 3}, {}), spans(plain.device(), {4, 3}, {});
  int known = 0;
  for (Index token = 0; token < 4; ++token)
    for (Execution* execution : {&plain, &spans}) {
      execution->compute([&](Index y, Index x) { return (token + 1) * 500 * (x + 2 * y); });
      const Span span(execution == &spans ? execution : nullptr, 0, 0);
      known += span.known() ? 1 : 0;
      if (!span.known()) run_layer(*execution);
    }
  CHECK(known == 0);
  CHECK(spans.clocks() == plain.clocks());
  CHECK(spans.ledger() == plain.ledger());
}

TEST_CASE("a known span's buffers count without its operators", "[plmr]") {
  Dice dice(5);
  const Mesh mesh{2, 3};
  const auto bytes = [&] { return dice.sizes(mesh.cores(), 90); };
  for (int trial = 0; trial < 20; ++trial) {
    const auto first = bytes(), second = bytes();
    Execution run({}, mesh, {}), left_out({}, mesh, {});
    const auto operators = [&](Execution& execution) {
      execution.hold(Memory::buffers, first, 1);
      execution.hold(Memory::buffers, second, 1);
      execution.hold(Memory::buffers, first, -1);
      execution.hold(Memory::buffers, first, 1);
      for (const auto* held : {&first, &second}) execution.hold(Memory::buffers, *held, -1);
    };
    for (int token = 0; token < 4; ++token) {
      const auto cache = bytes(), around = bytes();
      for (Execution* execution : {&run, &left_out}) {
        execution->hold(Memory::cache, cache, 1);
        execution->hold(Memory::buffers, around, 1);
        const Span span(execution, 0, 0);
        CHECK(span.known() == (token > 0));
        if (execution == &left_out && span.known())
          span.hold_buffers();
        else
          operators(*execution);
        if (token % 2 == 0) execution->hold(Memory::buffers, around, -1);
      }
    }
    CHECK(left_out.peak_bytes() == run.peak_bytes());
    for (const Memory kind : {Memory::weights, Memory::cache, Memory::buffers})
      CHECK(left_out.peak_bytes(kind) == run.peak_bytes(kind));
  }
}

TEST_CASE("an operator that first ran after the mark is multiplied, too", "[plmr]") {
  Execution execution({}, {1, 2}, {});
  const auto compute = [&](const char* name, Ticks ticks) {
    const Operator charged(&execution, name);
    execution.compute([&](Index, Index x) { return ticks * (x + 1); });
  };
  compute("old", 10);
  const Execution::Mark mark = execution.mark();
  compute("old", 1);
  compute("new", 5);
  execution.repeat_since(mark, 2);
  REQUIRE(execution.ledger().entries().size() == 2);
  const Charge old_charge = execution.ledger().entries()[0].charge;
  const Charge new_charge = execution.ledger().entries()[1].charge;
  CHECK(old_charge.calls == 4);
  CHECK(old_charge.compute_all == 3 * (10 + 3 * 1));
  CHECK(new_charge.calls == 3);
  CHECK(new_charge.compute_most == 3 * 10);
  CHECK(execution.clocks() == std::vector<Ticks>{10 + 3 * 6, 20 + 3 * 12});
}

TEST_CASE("what an operator does is charged to the outermost name", "[plmr]") {
  Execution execution({}, {2, 2}, {});
  execution.phase("decode");
  execution.layer(3);
  {
    const Operator outer(&execution, "attention");
    execution.compute([](Index, Index) { return 10; });
    {
      const Operator inner(&execution, "softmax");
      execution.compute([](Index, Index) { return 5; });
      execution.count(2, 30, 60, 4);
    }
    execution.compute([](Index y, Index x) { return y == 1 && x == 1 ? 7 : 0; });
  }
  REQUIRE(execution.ledger().entries().size() == 1);
  const auto& entry = execution.ledger().entries().front();
  CHECK(entry.account == Account{"decode", 3, "attention"});
  CHECK(entry.charge.calls == 1);
  CHECK(entry.charge.cycles == 22);
  CHECK(entry.charge.compute_all == 4 * 15 + 7);
  CHECK(entry.charge.compute_most == 22);
  CHECK(entry.charge.exposed_all == 0);
  CHECK(entry.charge.messages == 2);
  CHECK(entry.charge.words == 30);
  CHECK(entry.charge.word_hops == 60);
  CHECK(entry.charge.longest_path == 4);
}

TEST_CASE("an operator without an execution does nothing", "[plmr]") {
  CHECK_NOTHROW([] { const Operator charged(nullptr, "nothing"); }());
}

TEST_CASE("an operator's cycles are those by which the latest clock advanced", "[plmr]") {
  Execution execution({}, {1, 2}, {});
  execution.compute([](Index, Index x) { return x == 0 ? 100 : 0; });
  {
    const Operator charged(&execution, "behind");
    execution.compute([](Index, Index x) { return x == 0 ? 0 : 90; });
  }
  {
    const Operator charged(&execution, "ahead");
    execution.compute([](Index, Index x) { return x == 0 ? 0 : 30; });
  }
  CHECK(execution.ledger().entries()[0].charge.cycles == 0);
  CHECK(execution.ledger().entries()[1].charge.cycles == 20);
  CHECK(execution.now() == 120);
}

TEST_CASE("waiting is exposed, and entering an operator is software", "[plmr]") {
  Device device;
  device.operator_entry = 8;
  Execution execution(device, {1, 2}, {});
  {
    const Operator charged(&execution, "wait");
    execution.enter();
    execution.compute([](Index, Index x) { return x == 0 ? 50 : 20; });
    execution.wait_until(40);
  }
  const Charge charge = execution.ledger().entries().front().charge;
  CHECK(execution.clocks() == std::vector<Ticks>{58, 40});
  CHECK(charge.software_all == 16);
  CHECK(charge.exposed_all == 12);
  CHECK(charge.exposed_most == 12);
  CHECK(charge.exposed_last == 0);
  CHECK(charge.advance_all == 98);
}

TEST_CASE("cores count as active once they have computed in an operator", "[plmr]") {
  Execution execution({}, {3, 2}, {});
  CHECK(execution.active_cores() == 0);
  for (int call = 0; call < 2; ++call) {
    const Operator charged(&execution, "work");
    execution.compute([](Index y, Index) { return y == 1 ? 4 : 0; });
  }
  CHECK(execution.active_cores() == 2);
  CHECK(execution.computed_all() == 16);
  CHECK(execution.computed_so_far() == std::vector<Ticks>{0, 0, 8, 8, 0, 0});
}

TEST_CASE("the peak is the core that ever held most, with what it held then", "[plmr]") {
  Execution execution({}, {2, 2}, {});
  CHECK(execution.peak().total() == 0);
  execution.hold(Memory::weights, {100, 101, 110, 111}, 1);
  execution.hold(Memory::buffers, {5, 50, 5, 5}, 1);
  execution.hold(Memory::buffers, {5, 50, 5, 5}, -1);
  execution.hold(Memory::cache, {7, 7, 7, 7}, 1);
  CHECK(execution.peak() == Execution::Peak{{0, 1}, {101, 0, 50}});
  CHECK(execution.peak_bytes() == std::vector<Index>{107, 151, 117, 118});
  execution.restart_peak();
  CHECK(execution.peak() == Execution::Peak{{1, 1}, {111, 7, 0}});
  CHECK(execution.peak_bytes() == std::vector<Index>{107, 108, 117, 118});
  execution.hold(Memory::cache, {0, 0, 30, 0}, 1);
  CHECK(execution.peak() == Execution::Peak{{1, 0}, {110, 37, 0}});
}

TEST_CASE("a phase needs the routes of each of its movements once", "[plmr]") {
  Execution execution({}, {2, 2}, {});
  execution.phase("prefill");
  {
    const Operator charged(&execution, "both");
    execution.use_routes("ring along X", 2);
    execution.use_routes("ring along X", 3);
    execution.use_routes("ring along X", 2);
    execution.use_routes("ring along Y", 2);
  }
  execution.phase("decode");
  execution.use_routes("reduction along X", 6);
  CHECK(execution.routes_of("prefill") == 5);
  CHECK(execution.routes_of("decode") == 6);
  CHECK(execution.routes_of("transition") == 0);
  CHECK(execution.ledger().entries().front().charge.routes == 3);
}

TEST_CASE("the movements name the routes they need", "[plmr]") {
  Execution execution(Dice(1).device(Channel::rendezvous), {4, 4}, {});
  execution.phase("prefill");
  run_layer(execution);
  CHECK(execution.routes_of("prefill") == 3 + 3 + 6 + 6);
}
