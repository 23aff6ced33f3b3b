#include "plmr/line_reduction.hpp"

#include "plmr/dice.hpp"
#include "plmr/naive_mesh.hpp"

using wafer::at, wafer::Index;
using namespace wafer::plmr;
using wafer::mesh::Axis, wafer::mesh::KTree, wafer::mesh::Mesh, wafer::mesh::Range;
using wafer::test::Dice, wafer::test::NaiveMesh;

namespace {

// The cores at places of a line.
std::vector<std::size_t> cores_of(const NaiveMesh& cores, Axis axis, Index line,
                                  const std::vector<Index>& places) {
  std::vector<std::size_t> found;
  for (const Index place : places) {
    const auto core = wafer::mesh::core_at(axis, line, place);
    found.push_back(cores.core(core.y, core.x));
  }
  return found;
}

std::vector<Index> from_to(Index begin, Index end) {
  std::vector<Index> places;
  for (Index place = begin; place < end; ++place) places.push_back(place);
  return places;
}

void naive_reduction(NaiveMesh& cores, Axis axis, const LineGroup& group) {
  for (Index lane = 0; lane < group.lines.size(); ++lane) {
    const Index line = group.lines.begin + lane;
    for (const auto& level : group.tree->levels())
      for (const auto& chain : level) {
        std::vector<Index> places;
        for (const Index member : chain.members) places.push_back(group.origin + member);
        cores.chain(cores_of(cores, axis, line, places), at(chain.root), group.reduce_words[at(lane)]);
      }
    if (group.result_words.empty()) continue;
    Index length = 0;
    for (const auto& chain : group.tree->levels().front()) length += static_cast<Index>(chain.members.size());
    cores.multicast(cores_of(cores, axis, line, from_to(group.origin, group.origin + length)),
                    at(group.tree->root()), group.result_words[at(lane)]);
  }
}

struct Setting {
  Mesh mesh;
  Axis axis = Axis::x;
  Index levels = 1;
  bool multicast = false;
};

// Lines cut into two groups, each with a stretch of its own.
void compare_reduction(Dice& dice, const Setting& setting) {
  Execution execution(dice.device(Channel::rendezvous), setting.mesh, dice.precision());
  dice.stagger(execution, dice.roll(0, 3) * 20 * ticks_per_cycle);
  const Index lines = setting.mesh.lines(setting.axis), length = setting.mesh.length(setting.axis);
  const Index cut = dice.roll(0, lines);
  const Index origin = dice.roll(0, length - 1);
  const KTree whole(length, setting.levels), part(length - origin, setting.levels);
  const auto result = [&](Index count) {
    return setting.multicast ? dice.sizes(count, 7) : std::vector<Index>{};
  };
  const std::vector<LineGroup> groups = {
      {{0, cut}, 0, &whole, dice.sizes(cut, 7), result(cut)},
      {{cut, lines}, origin, &part, dice.sizes(lines - cut, 7), result(lines - cut)}};
  NaiveMesh naive(execution);
  {
    const Operator charged(&execution, "reduction");
    reduce_lines(execution, setting.axis, groups);
  }
  for (const LineGroup& group : groups) naive_reduction(naive, setting.axis, group);
  wafer::test::check_same(execution, naive);
}

}  // namespace

TEST_CASE("a K-tree takes what a naive simulation of its streams takes, on every core", "[plmr]") {
  Dice dice(1);
  for (const Mesh mesh :
       {Mesh{1, 1}, Mesh{1, 2}, Mesh{2, 1}, Mesh{3, 4}, Mesh{5, 7}, Mesh{16, 3}, Mesh{1, 24}, Mesh{30, 2}})
    for (const Axis axis : {Axis::x, Axis::y})
      for (Index levels = 1; levels <= 4; ++levels)
        for (const bool multicast : {false, true})
          for (int trial = 0; trial < 5; ++trial) {
            CAPTURE(mesh.height, mesh.width, axis == Axis::y, levels, multicast, trial);
            compare_reduction(dice, {mesh, axis, levels, multicast});
          }
}

TEST_CASE("a multicast reaches the cores of its stretch and no others", "[plmr]") {
  Dice dice(2);
  for (const Mesh mesh : {Mesh{1, 1}, Mesh{1, 6}, Mesh{6, 1}, Mesh{5, 4}, Mesh{4, 9}})
    for (const Axis axis : {Axis::x, Axis::y})
      for (int trial = 0; trial < 8; ++trial) {
        Execution execution(dice.device(Channel::eager), mesh, dice.precision());
        dice.stagger(execution, 50 * ticks_per_cycle);
        const Index begin = dice.roll(0, mesh.length(axis) - 1),
                    end = dice.roll(begin + 1, mesh.length(axis));
        const Index root = dice.roll(begin, end - 1);
        const Index first = dice.roll(0, mesh.lines(axis));
        const Range lines{first, dice.roll(first, mesh.lines(axis))};
        const std::vector<Index> words = dice.sizes(lines.size(), 9);
        CAPTURE(mesh.height, mesh.width, axis == Axis::y, begin, end, root, lines.begin, lines.end);
        NaiveMesh naive(execution);
        {
          const Operator charged(&execution, "multicast");
          multicast_lines(execution, axis, lines, {begin, end}, root, words);
        }
        for (Index lane = 0; lane < lines.size(); ++lane)
          naive.multicast(cores_of(naive, axis, lines.begin + lane, from_to(begin, end)), at(root - begin),
                          words[at(lane)]);
        wafer::test::check_same(execution, naive);
      }
}

TEST_CASE("a line without words costs nothing", "[plmr]") {
  Dice dice(3);
  Execution execution(dice.device(Channel::rendezvous), {3, 5}, {});
  const KTree tree(5, 2);
  const LineGroup group{{0, 3}, 0, &tree, {0, 4, 0}, {0, 4, 0}};
  reduce_lines(execution, Axis::x, std::span(&group, 1));
  const auto clocks = execution.clocks();
  for (std::size_t x = 0; x < 5; ++x) {
    CHECK(clocks[x] == 0);
    CHECK(clocks[5 + x] > 0);
    CHECK(clocks[10 + x] == 0);
  }
}

TEST_CASE("a tree's root needs two paths for every level that moves, and two for the multicast", "[plmr]") {
  CHECK(tree_routes(KTree(1, 2), true) == 0);
  CHECK(tree_routes(KTree(9, 1), false) == 2);
  CHECK(tree_routes(KTree(9, 2), false) == 4);
  CHECK(tree_routes(KTree(9, 2), true) == 6);
  CHECK(tree_routes(KTree(9, 2, 9), true) == 4);  // groups of one core do not move
  CHECK(tree_routes(KTree(27, 3), false) == 6);
}
