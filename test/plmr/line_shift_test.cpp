#include "plmr/line_shift.hpp"

#include "plmr/dice.hpp"
#include "plmr/naive_mesh.hpp"

using wafer::at, wafer::Index;
using namespace wafer::plmr;
using wafer::mesh::Mesh;
using wafer::test::Dice, wafer::test::NaiveMesh;

namespace {

// Only cores that send or get something post it.
void naive_hand_up(NaiveMesh& cores, const std::vector<bool>& rows, const std::vector<Index>& words) {
  std::vector<NaiveMesh::Transfer> transfers;
  std::vector<bool> takes_part(cores.clock.size());
  for (Index y = 1; y < cores.mesh.height; ++y)
    for (Index x = 0; x < cores.mesh.width; ++x) {
      if (!rows[at(y)] || words[at(x)] == 0) continue;
      transfers.push_back({cores.core(y, x), cores.core(y - 1, x), words[at(x)]});
      takes_part[cores.core(y, x)] = takes_part[cores.core(y - 1, x)] = true;
    }
  for (std::size_t core = 0; core < takes_part.size(); ++core)
    if (takes_part[core]) cores.handle(core, cores.device.shift);
  cores.wait_for(transfers, std::vector<Ticks>(cores.clock));
}

}  // namespace

TEST_CASE("rows that hand a block up take what a naive simulation of them takes", "[plmr]") {
  Dice dice(1);
  for (const Mesh mesh : {Mesh{1, 1}, Mesh{1, 3}, Mesh{2, 2}, Mesh{5, 1}, Mesh{7, 4}})
    for (const Channel channel : {Channel::rendezvous, Channel::eager})
      for (int trial = 0; trial < 12; ++trial) {
        CAPTURE(mesh.height, mesh.width, channel == Channel::eager, trial);
        Execution execution(dice.device(channel), mesh, {}, trial % 2 == 1);
        dice.stagger(execution, dice.roll(0, 2) * 20 * ticks_per_cycle);
        std::vector<bool> rows(at(mesh.height), trial == 0);
        for (std::size_t y = 1; y < rows.size() && trial > 1; ++y) rows[y] = dice.coin();
        const std::vector<Index> words = dice.sizes(mesh.width, trial == 2 ? 0 : 6);
        NaiveMesh naive(execution);
        {
          const Operator charged(&execution, "shift");
          hand_up(execution, rows, words);
        }
        naive_hand_up(naive, rows, words);
        wafer::test::check_same(execution, naive);
      }
}
