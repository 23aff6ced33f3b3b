#include "mesh/ktree.hpp"

#include <cmath>
#include <numeric>

#include "core/error.hpp"

namespace wafer::mesh {

namespace {

// floor(n^((levels - 1) / levels)) in whole numbers: the largest t with t^levels <= n^(levels - 1).
Index floor_root(Index n, Index levels) {
  const auto power = static_cast<double>(levels - 1) / static_cast<double>(levels);
  auto t = static_cast<Index>(std::pow(static_cast<double>(n), power) + 1e-9);
  return t < 1 ? 1 : t;
}

std::vector<Chain> chains_over(const std::vector<Index>& places, Index groups) {
  std::vector<Chain> chains;
  const auto offsets = part_offsets(static_cast<Index>(places.size()), groups);
  for (Index g = 0; g < groups; ++g) {
    Chain chain;
    chain.members.assign(places.begin() + offsets[at(g)], places.begin() + offsets[at(g) + 1]);
    chain.root = static_cast<Index>(chain.members.size()) / 2;
    chains.push_back(std::move(chain));
  }
  return chains;
}

}  // namespace

Index default_groups(Index n, Index levels) {
  if (levels <= 1) return 1;
  const Index most = floor_root(n, levels);
  Index divisor = most;
  while (n % divisor != 0) --divisor;
  return 2 * divisor < most ? most : divisor;
}

KTree::KTree(Index n, Index levels, Index groups) {
  WAFER_CHECK(n >= 1 && levels >= 1 && groups >= 0 && groups <= n, "a tree over at least one core");
  std::vector<Index> places(at(n));
  std::iota(places.begin(), places.end(), Index{0});
  for (Index level = 0; level < levels; ++level) {
    const auto count = static_cast<Index>(places.size());
    const Index to_come = levels - level;
    const bool given = level == 0 && groups > 0 && levels > 1;
    levels_.push_back(chains_over(places, given ? groups : default_groups(count, to_come)));
    places.clear();
    for (const Chain& chain : levels_.back()) places.push_back(chain.root_place());
  }
}

}  // namespace wafer::mesh
