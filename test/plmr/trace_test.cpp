#include <functional>

#include "core/error.hpp"
#include "plmr/dice.hpp"
#include "plmr/line_reduction.hpp"
#include "plmr/ring_product.hpp"
#include "plmr/rotating_product.hpp"
#include "support/catch.hpp"

using wafer::at, wafer::Index;
using namespace wafer::plmr;
using wafer::mesh::Axis, wafer::mesh::KTree, wafer::mesh::Mesh, wafer::mesh::QueuePlan;
using wafer::test::Dice;

namespace {

using Movement = std::function<void(Execution&)>;

Movement random_ring(Dice& dice, Mesh mesh, bool even) {
  const Index blocks = std::max(mesh.height, mesh.width);
  RingProduct product{dice.sizes(mesh.height, 9), dice.sizes(blocks, 9), dice.sizes(mesh.width, 9),
                      dice.coin() ? Align::shortest : Align::half};
  if (even) {
    product.rows.assign(at(mesh.height), 3);
    product.blocks.assign(at(blocks), dice.roll(1, 5));
  }
  return [=](Execution& execution) { ring_product(execution, QueuePlan(mesh), product); };
}

Movement random_rotation(Dice& dice, Mesh mesh, bool scores) {
  const RotatingProduct product{{0, mesh.width},
                                2,
                                dice.sizes(mesh.height, 6),
                                dice.sizes(std::max(mesh.height, mesh.width), 6),
                                dice.sizes(mesh.width, 6),
                                [](Index y, Index block) { return (y + block) % 3 > 0; }};
  return [=](Execution& execution) {
    if (scores)
      scores_product(execution, QueuePlan(mesh), product);
    else
      values_product(execution, QueuePlan(mesh), product);
  };
}

Movement random_reduction(Dice& dice, Mesh mesh, Axis axis) {
  const Index lines = mesh.lines(axis);
  const std::vector<Index> there = dice.sizes(lines, 6), back = dice.sizes(lines, 6);
  return [=](Execution& execution) {
    const KTree tree(mesh.length(axis), 2);
    const LineGroup group{{0, lines}, 0, &tree, there, back};
    reduce_lines(execution, axis, std::span(&group, 1));
  };
}

Device simple_device() {
  Device device;
  device.word = device.hop = device.stage = device.operation = ticks_per_cycle;
  device.ramp = 2 * ticks_per_cycle;
  return device;
}

Trace after_reduction(Index cores, bool multicast) {
  Execution execution(simple_device(), {1, cores}, {}, true);
  execution.compute([](Index, Index) { return 100; });
  const KTree tree(cores, 1);
  const LineGroup group{{0, 1}, 0, &tree, {1}, multicast ? std::vector<Index>{1} : std::vector<Index>{}};
  reduce_lines(execution, Axis::x, std::span(&group, 1));
  return execution.critical_path();
}

}  // namespace

TEST_CASE("a traced execution has the clocks and the ledger of a plain one", "[plmr]") {
  Dice dice(1);
  for (const Mesh mesh : {Mesh{1, 1}, Mesh{1, 5}, Mesh{4, 1}, Mesh{3, 5}, Mesh{6, 6}, Mesh{7, 2}})
    for (const Channel channel : {Channel::rendezvous, Channel::eager})
      for (int kind = 0; kind < 6; ++kind) {
        CAPTURE(mesh.height, mesh.width, channel == Channel::eager, kind);
        const Movement movement = kind < 2   ? random_ring(dice, mesh, kind == 1)
                                  : kind < 4 ? random_rotation(dice, mesh, kind == 2)
                                             : random_reduction(dice, mesh, kind == 4 ? Axis::x : Axis::y);
        const Device device = dice.device(channel);
        const unsigned start = static_cast<unsigned>(dice.roll(0, 1000));
        Execution plain(device, mesh, {}), traced(device, mesh, {}, true);
        for (Execution* execution : {&plain, &traced}) {
          Dice(start).stagger(*execution, 30 * ticks_per_cycle);
          const Operator charged(execution, "movement");
          movement(*execution);
        }
        CHECK(traced.clocks() == plain.clocks());
        CHECK(traced.ledger() == plain.ledger());
        const Trace path = traced.critical_path();
        CHECK(path.time == plain.now());
        CHECK(path.compute <= path.time);
      }
}

TEST_CASE("the critical path of a chain has its hops, its stages and what the first core computed",
          "[plmr]") {
  const Trace one = after_reduction(1, true);
  CHECK(one.time == 100);
  CHECK(one.compute == 100);
  CHECK(one.hops == 0);
  CHECK(one.stages == 0);
  for (const Index cores : {2, 8, 20}) {
    CAPTURE(cores);
    const Index far = cores / 2;  // the low side is longer by one and comes last
    const Trace path = after_reduction(cores, false);
    CHECK(path.hops == far);
    CHECK(path.stages == far);
    CHECK(path.compute == 100);
    CHECK(path.time == 100 + (1 + far * (5 + 1 + 1) + 1) * ticks_per_cycle);
    const Trace back = after_reduction(cores, true);
    CHECK(back.hops == 2 * far);
    CHECK(back.stages == far);
    CHECK(back.compute == 100);
  }
}

TEST_CASE("products that hide all messages leave a critical path without hops", "[plmr]") {
  Device device = simple_device();
  device.loop = 1000 * ticks_per_cycle;
  device.stream_packet_bytes = device.memory_word_bytes = 4;
  device.vector_elements_32 = 1;
  const std::vector<Index> ones(5, 1);
  Execution execution(device, {5, 5}, {}, true);
  ring_product(execution, QueuePlan({5, 5}), {ones, ones, ones, Align::none});
  const Trace path = execution.critical_path();
  CHECK(path.hops == 0);
  CHECK(path.time == path.compute);
  CHECK(path.compute == execution.cost().vector(1) + 5 * execution.cost().gemm(1, 1, 1));
}

TEST_CASE("an execution without a trace knows no critical path", "[plmr]") {
  const Execution execution(simple_device(), {2, 2}, {});
  CHECK(!execution.traced());
  CHECK_THROWS_AS(execution.critical_path(), wafer::InternalError);
}
