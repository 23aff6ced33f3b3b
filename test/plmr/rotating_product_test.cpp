#include "plmr/rotating_product.hpp"

#include "plmr/dice.hpp"
#include "plmr/naive_mesh.hpp"

using wafer::at, wafer::Index;
using namespace wafer::plmr;
using wafer::mesh::Mesh, wafer::mesh::QueuePlan, wafer::mesh::Range, wafer::mesh::Ring;
using wafer::test::Dice, wafer::test::NaiveMesh, wafer::test::NaiveRing;

namespace {

enum class Kind { scores, values };

// A step of MeshGEMM-T, or of the product with its result, on the naive mesh.
class NaiveRotation {
public:
  NaiveRotation(NaiveMesh& cores, const RotatingProduct& product, Ring::Order order)
      : cores_(cores),
        product_(product),
        owners_(product.run.size(), blocks(), 0, order),
        columns_(at(product.run.size()), NaiveRing(cores.mesh.height, blocks(), 0, order)) {}

  void run(Kind kind) {
    for (Index t = 0; t < blocks(); ++t) step(kind);
  }

private:
  Index blocks() const { return static_cast<Index>(product_.blocks.size()); }
  Index height() const { return cores_.mesh.height; }
  Index width() const { return product_.run.size(); }
  std::size_t core(Index y, Index j) const { return cores_.core(y, product_.run.begin + j); }
  Index area(Index y, Index block) const {
    return product_.heads * product_.rows[at(y)] * product_.blocks[at(block)];
  }
  bool alive(Index y, Index block) const {
    return area(y, block) > 0 && (!product_.alive || product_.alive(y, block));
  }
  std::size_t owner(Index block) const {
    Index j = 0;
    while (!owners_.holds(j, block)) ++j;
    return at(j);
  }
  std::vector<std::size_t> row(Index y) const {
    std::vector<std::size_t> cores;
    for (Index j = 0; j < width(); ++j) cores.push_back(core(y, j));
    return cores;
  }

  void step(Kind kind) {
    const bool moves = height() > 1;
    std::vector<Index> block;  // at the front of every row
    for (Index y = 0; y < height(); ++y) block.push_back(columns_.front().front(y));
    std::vector<NaiveMesh::Transfer> transfers;
    for (Index j = 0; j < width(); ++j)
      for (const auto& move : columns_[at(j)].forward()) {
        const Index elements = product_.heads * product_.blocks[at(move.block)] * product_.depth[at(j)];
        if (moves)
          transfers.push_back({core(move.from, j), core(move.to, j), cores_.cost.shift_words(elements)});
      }
    for (Index y = 0; y < height() && moves; ++y)
      for (Index j = 0; j < width(); ++j) cores_.handle(core(y, j), cores_.device.shift);
    const std::vector<Ticks> posted = cores_.clock;
    const auto streams = [&](auto send) {
      for (Index y = 0; y < height(); ++y)
        if (const Index l = block[at(y)]; alive(y, l))
          send(y, owner(l), cores_.cost.stream_words(area(y, l)));
    };
    if (kind == Kind::values)
      streams([&](Index y, std::size_t root, Index words) { cores_.multicast(row(y), root, words); });
    work(kind, block);
    for (const auto& transfer : transfers)
      cores_.handle(transfer.from, transfer.words * cores_.device.background_word);
    if (kind == Kind::scores)
      streams([&](Index y, std::size_t root, Index words) { cores_.chain(row(y), root, words); });
    cores_.wait_for(transfers, posted);
  }

  void work(Kind kind, const std::vector<Index>& block) {
    const Cost& cost = cores_.cost;
    for (Index y = 0; y < height(); ++y)
      for (Index j = 0; j < width(); ++j) {
        const Index l = block[at(y)];
        if (!alive(y, l)) continue;
        const Index m = product_.rows[at(y)], n = product_.blocks[at(l)], depth = product_.depth[at(j)];
        if (kind == Kind::scores)
          cores_.compute(core(y, j), cost.vector(area(y, l)) + product_.heads * cost.gemm(m, depth, n));
        else
          cores_.compute(core(y, j), product_.heads * cost.gemm(m, n, depth));
      }
  }

  NaiveMesh& cores_;
  const RotatingProduct& product_;
  NaiveRing owners_;                // of S's blocks, over the run's columns
  std::vector<NaiveRing> columns_;  // of B, column by column of the run
};

struct Setting {
  Mesh mesh;
  Range run;
  Kind kind = Kind::scores;
  Channel channel = Channel::rendezvous;
  Ring::Order order = Ring::Order::interleaved;
};

void compare(Dice& dice, const Setting& setting, const RotatingProduct& product) {
  Execution execution(dice.device(setting.channel), setting.mesh, dice.precision());
  dice.stagger(execution, dice.roll(0, 3) * 20 * ticks_per_cycle);
  NaiveMesh naive(execution);
  {
    const Operator charged(&execution, "product");
    const QueuePlan queues({setting.mesh.height, setting.run.size()}, setting.order);
    if (setting.kind == Kind::scores)
      scores_product(execution, queues, product);
    else
      values_product(execution, queues, product);
  }
  NaiveRotation(naive, product, setting.order).run(setting.kind);
  wafer::test::check_same(execution, naive);
}

// Uneven shapes; alive: everything, blocks up to the diagonal, or a third of them.
RotatingProduct random_product(Dice& dice, const Setting& setting, int trial) {
  const Index height = setting.mesh.height, width = setting.run.size();
  RotatingProduct product{setting.run,           dice.roll(1, 3),
                          dice.sizes(height, 6), dice.sizes(std::max(height, width), 6),
                          dice.sizes(width, 6),  {}};
  if (trial % 3 == 1) product.alive = [](Index y, Index block) { return block <= y; };
  const Index seed = dice.roll(1, 1000);
  if (trial % 3 == 2)
    product.alive = [seed](Index y, Index block) { return (7 * y + 5 * block + seed) % 3 == 0; };
  return product;
}

void compare_all(Kind kind) {
  Dice dice(kind == Kind::scores ? 1 : 2);
  for (const Index height : {1, 2, 3, 4, 7})
    for (const Index width : {1, 2, 3, 5})
      for (const Channel channel : {Channel::rendezvous, Channel::eager})
        for (const auto order : {Ring::Order::interleaved, Ring::Order::natural})
          for (int trial = 0; trial < 9; ++trial) {
            CAPTURE(height, width, channel == Channel::eager, order == Ring::Order::natural, trial);
            const Index before = dice.roll(0, 2), behind = dice.roll(0, 2);
            const Setting setting{
                {height, before + width + behind}, {before, before + width}, kind, channel, order};
            compare(dice, setting, random_product(dice, setting, trial));
          }
}

}  // namespace

TEST_CASE("a MeshGEMM-T on a run of columns takes what a naive simulation of it takes", "[plmr]") {
  compare_all(Kind::scores);
}

TEST_CASE("the product with its result takes what a naive simulation of it takes", "[plmr]") {
  compare_all(Kind::values);
}

TEST_CASE("dead blocks go round without a product, a reduction or a multicast", "[plmr]") {
  Dice dice(3);
  for (const Kind kind : {Kind::scores, Kind::values}) {
    const Setting setting{{3, 4}, {0, 4}, kind};
    RotatingProduct product{{0, 4}, 2, {2, 2, 2}, {3, 3, 3, 3}, {1, 1, 1, 1}, {}};
    product.alive = [](Index, Index) { return false; };
    compare(dice, setting, product);
    Execution execution(dice.device(Channel::rendezvous), setting.mesh, {});
    const Operator charged(&execution, "product");
    const QueuePlan queues({3, 4});
    if (kind == Kind::scores)
      scores_product(execution, queues, product);
    else
      values_product(execution, queues, product);
    for (const Ticks ticks : execution.compute_ticks()) CHECK(ticks == 0);
  }
}

TEST_CASE("columns outside the run are left alone", "[plmr]") {
  Dice dice(4);
  Execution execution(dice.device(Channel::rendezvous), {4, 5}, {});
  dice.stagger(execution, 100);
  const auto before = execution.clocks();
  const RotatingProduct product{{1, 3}, 1, {2, 1, 2, 3}, {3, 2, 1, 4}, {2, 3}, {}};
  scores_product(execution, QueuePlan({4, 2}), product);
  values_product(execution, QueuePlan({4, 2}), product);
  const auto now = execution.clocks();
  for (std::size_t y = 0; y < 4; ++y)
    for (const std::size_t x : {0, 3, 4}) CHECK(now[5 * y + x] == before[5 * y + x]);
}
