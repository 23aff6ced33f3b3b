#include "plmr/ring_product.hpp"

#include "plmr/dice.hpp"
#include "plmr/naive_mesh.hpp"

using wafer::at, wafer::Index;
using namespace wafer::plmr;
using wafer::mesh::Mesh, wafer::mesh::QueuePlan, wafer::mesh::Ring;
using wafer::test::Dice, wafer::test::NaiveMesh, wafer::test::NaiveRing;

namespace {

// MeshGEMM on a naive mesh.
class NaiveProduct {
public:
  NaiveProduct(NaiveMesh& cores, const RingProduct& product, Ring::Order order)
      : cores_(cores), product_(product), mesh_(cores.mesh), order_(order) {}

  void run() {
    cores_.enter();
    for (Index y = 0; y < mesh_.height; ++y)
      for (Index x = 0; x < mesh_.width; ++x)
        cores_.compute(cores_.core(y, x), cores_.cost.vector(m(y) * n(x)));
    for (Index y = 0; y < mesh_.height; ++y) left_.push_back(aligned_row(y));
    for (Index x = 0; x < mesh_.width; ++x)
      right_.push_back(NaiveRing(mesh_.height, blocks(), slots_before(mesh_.width, x), order_));
    for (Index t = 0; t < blocks(); ++t) step();
  }

private:
  Index blocks() const { return std::max(mesh_.height, mesh_.width); }
  Index m(Index y) const { return product_.rows[at(y)]; }
  Index k(Index block) const { return product_.blocks[at(block)]; }
  Index n(Index x) const { return product_.columns[at(x)]; }
  Index words(Index elements) const { return cores_.cost.shift_words(elements); }
  // Slots at the positions before that of a place.
  Index slots_before(Index cores, Index place) const {
    return NaiveRing(cores, blocks(), 0, order_).front(place);
  }

  NaiveRing aligned_row(Index y) {
    const Index skew = slots_before(mesh_.height, y);
    NaiveRing aligned(mesh_.width, blocks(), skew, order_);
    if (product_.align == Align::none || !aligned.moves()) return aligned;
    NaiveRing row(mesh_.width, blocks(), 0, order_);
    bool forward = skew <= blocks() - skew;
    Index rounds = forward ? skew : blocks() - skew;
    if (product_.align == Align::half) {
      forward = y % 2 == 1;
      rounds = mesh_.width / 2;
    }
    for (Index round = 0; round < rounds; ++round) {
      std::vector<Ticks> posted = cores_.clock;
      for (Index x = 0; x < mesh_.width; ++x) {
        cores_.handle(cores_.core(y, x), cores_.device.shift);
        posted[cores_.core(y, x)] = cores_.clock[cores_.core(y, x)];
      }
      cores_.wait_for(of_row(y, forward ? row.forward() : row.backward()), posted);
    }
    if (product_.align == Align::shortest)
      for (Index x = 0; x < mesh_.width; ++x) CHECK(row.front(x) == aligned.front(x));
    return aligned;
  }
  std::vector<NaiveMesh::Transfer> of_row(Index y, const std::vector<NaiveRing::Move>& moves) const {
    std::vector<NaiveMesh::Transfer> transfers;
    for (const auto& move : moves)
      transfers.push_back({cores_.core(y, move.from), cores_.core(y, move.to), words(m(y) * k(move.block))});
    return transfers;
  }

  void step() {
    std::vector<NaiveMesh::Transfer> transfers;
    std::vector<Index> block(cores_.clock.size());
    for (Index y = 0; y < mesh_.height; ++y)
      for (Index x = 0; x < mesh_.width; ++x) {
        block[cores_.core(y, x)] = left_[at(y)].front(x);
        CHECK(right_[at(x)].front(y) == left_[at(y)].front(x));
      }
    for (Index y = 0; y < mesh_.height && mesh_.width > 1; ++y)
      for (const auto& transfer : of_row(y, left_[at(y)].forward())) transfers.push_back(transfer);
    for (Index x = 0; x < mesh_.width && mesh_.height > 1; ++x)
      for (const auto& move : right_[at(x)].forward())
        transfers.push_back(
            {cores_.core(move.from, x), cores_.core(move.to, x), words(k(move.block) * n(x))});
    turn_alone();
    const Index axes = (mesh_.width > 1 ? 1 : 0) + (mesh_.height > 1 ? 1 : 0);
    for (std::size_t core = 0; core < block.size(); ++core) cores_.handle(core, axes * cores_.device.shift);
    const std::vector<Ticks> posted = cores_.clock;
    for (Index y = 0; y < mesh_.height; ++y)
      for (Index x = 0; x < mesh_.width; ++x)
        cores_.compute(cores_.core(y, x), cores_.cost.gemm(m(y), k(block[cores_.core(y, x)]), n(x)));
    for (const auto& transfer : transfers)
      cores_.handle(transfer.from, transfer.words * cores_.device.background_word);
    cores_.wait_for(transfers, posted);
  }
  // A line of one core sends nothing, but its queue goes round.
  void turn_alone() {
    if (mesh_.width == 1)
      for (NaiveRing& row : left_) row.forward();
    if (mesh_.height == 1)
      for (NaiveRing& column : right_) column.forward();
  }

  NaiveMesh& cores_;
  const RingProduct& product_;
  Mesh mesh_;
  Ring::Order order_;
  std::vector<NaiveRing> left_, right_;
};

constexpr Mesh meshes[] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 7}, {6, 1}, {3, 3}, {4, 4},
                           {5, 5}, {3, 5}, {5, 2}, {7, 4}, {2, 9}, {8, 8}, {11, 3}};

void compare(Dice& dice, Mesh mesh, const Device& device, const RingProduct& product, Ring::Order order,
             Ticks apart = 0) {
  Execution execution(device, mesh, dice.precision());
  dice.stagger(execution, apart > 0 ? apart : dice.roll(0, 3) * 50 * ticks_per_cycle);
  NaiveMesh naive(execution);
  {
    const Operator charged(&execution, "product");
    ring_product(execution, QueuePlan(mesh, order), product);
  }
  NaiveProduct(naive, product, order).run();
  wafer::test::check_same(execution, naive);
}

}  // namespace

TEST_CASE("a MeshGEMM of uneven shapes takes what a naive simulation of it takes, on every core", "[plmr]") {
  Dice dice(1);
  for (const Mesh mesh : meshes)
    for (const Channel channel : {Channel::rendezvous, Channel::eager})
      for (const Align align : {Align::none, Align::shortest, Align::half})
        for (const auto order : {Ring::Order::interleaved, Ring::Order::natural})
          for (int trial = 0; trial < 4; ++trial) {
            CAPTURE(mesh.height, mesh.width, channel == Channel::eager, static_cast<int>(align),
                    order == Ring::Order::natural, trial);
            const Index most = trial == 0 ? 1 : 9;
            const RingProduct product{dice.sizes(mesh.height, most),
                                      dice.sizes(std::max(mesh.height, mesh.width), most),
                                      dice.sizes(mesh.width, most), align};
            compare(dice, mesh, dice.device(channel), product, order);
          }
}

TEST_CASE("a MeshGEMM of even blocks takes the same whether its steps are run or skipped", "[plmr]") {
  Dice dice(2);
  for (const Mesh mesh : {Mesh{1, 1}, Mesh{16, 16}, Mesh{9, 17}, Mesh{17, 6}, Mesh{1, 33}, Mesh{32, 1}})
    for (const Channel channel : {Channel::rendezvous, Channel::eager})
      for (const Align align : {Align::none, Align::shortest, Align::half})
        for (int trial = 0; trial < 4; ++trial) {
          CAPTURE(mesh.height, mesh.width, channel == Channel::eager, static_cast<int>(align), trial);
          const auto all = [&](Index count) { return std::vector<Index>(at(count), dice.roll(1, 8)); };
          RingProduct product{all(mesh.height), all(std::max(mesh.height, mesh.width)), all(mesh.width),
                              align};
          if (trial == 2) product.rows = dice.sizes(mesh.height, 8);
          if (trial == 3) product.columns = dice.sizes(mesh.width, 8);
          compare(dice, mesh, dice.device(channel), product, Ring::Order::interleaved);
        }
}

TEST_CASE("a MeshGEMM of blocks of two sizes takes the same however far the clocks are apart", "[plmr]") {
  Dice dice(3);
  // Clocks for which 32 bits are enough, for a few steps at a time, and not.
  const Ticks end = Ticks{1} << 29;
  for (const Ticks apart : {Ticks{0}, end / 2, end - 8000 * ticks_per_cycle, end, 16 * end})
    for (const Mesh mesh : {Mesh{1, 1}, Mesh{16, 16}, Mesh{9, 17}, Mesh{17, 6}, Mesh{1, 33}, Mesh{32, 1}})
      for (const Channel channel : {Channel::rendezvous, Channel::eager})
        for (int trial = 0; trial < 4; ++trial) {
          CAPTURE(apart, mesh.height, mesh.width, channel == Channel::eager, trial);
          std::vector<Index> blocks(at(std::max(mesh.height, mesh.width)));
          const Index small = dice.roll(0, 3);
          for (Index& block : blocks) block = dice.coin() ? small : small + 5;
          const RingProduct product{dice.sizes(mesh.height, 8), blocks, dice.sizes(mesh.width, 8)};
          compare(dice, mesh, dice.device(channel), product, Ring::Order::interleaved, apart);
        }
}

TEST_CASE("without rows, columns or contraction a MeshGEMM sends no message", "[plmr]") {
  Dice dice(3);
  for (const Mesh mesh : {Mesh{3, 3}, Mesh{2, 5}})
    for (int empty = 0; empty < 3; ++empty) {
      CAPTURE(mesh.height, mesh.width, empty);
      const auto sizes = [&](Index count, bool none) { return std::vector<Index>(at(count), none ? 0 : 3); };
      const RingProduct product{sizes(mesh.height, empty == 0 || empty == 2),
                                sizes(std::max(mesh.height, mesh.width), empty == 1),
                                sizes(mesh.width, empty == 2), Align::shortest};
      compare(dice, mesh, dice.device(Channel::rendezvous), product, Ring::Order::interleaved);
    }
}

TEST_CASE("no router needs more than three paths for the shifts along an axis", "[plmr]") {
  CHECK(ring_routes(1) == 0);
  CHECK(ring_routes(2) == 2);
  CHECK(ring_routes(3) == 3);
  CHECK(ring_routes(720) == 3);
}
