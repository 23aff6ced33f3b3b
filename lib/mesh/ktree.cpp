#include "mesh/ktree.hpp"

#include <algorithm>
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

std::vector<Index> whole_line(Index n) {
  std::vector<Index> places(at(n));
  std::iota(places.begin(), places.end(), Index{0});
  return places;
}

std::vector<Index> roots_of(const std::vector<Chain>& chains) {
  std::vector<Index> places;
  places.reserve(chains.size());
  for (const Chain& chain : chains) places.push_back(chain.root_place());
  return places;
}

std::vector<std::vector<Chain>> k_levels(Index n, Index levels, Index groups) {
  WAFER_CHECK(n >= 1 && levels >= 1 && groups >= 0 && groups <= n, "a tree over at least one core");
  std::vector<std::vector<Chain>> tree;
  std::vector<Index> places = whole_line(n);
  for (Index level = 0; level < levels; ++level) {
    const auto count = static_cast<Index>(places.size());
    const bool given = level == 0 && groups > 0 && levels > 1;
    tree.push_back(chains_over(places, given ? groups : default_groups(count, levels - level)));
    places = roots_of(tree.back());
  }
  return tree;
}

std::vector<std::vector<Chain>> pairs(Index n) {
  WAFER_CHECK(n >= 1, "a tree over at least one core");
  std::vector<std::vector<Chain>> tree;
  std::vector<Index> places = whole_line(n);
  do {
    const auto count = static_cast<Index>(places.size());
    std::vector<Chain> chains;
    for (Index p = 0; p < count; p += 2)
      chains.push_back({{places.begin() + p, places.begin() + std::min(p + 2, count)}, 0});
    places = roots_of(chains);
    tree.push_back(std::move(chains));
  } while (places.size() > 1);
  return tree;
}

}  // namespace

Index default_groups(Index n, Index levels) {
  if (levels <= 1) return 1;
  const Index most = floor_root(n, levels);
  Index divisor = most;
  while (n % divisor != 0) --divisor;
  return 2 * divisor < most ? most : divisor;
}

KTree::KTree(Index n, Index levels, Index groups) : ReductionTree(k_levels(n, levels, groups)) {}

Pipeline::Pipeline(Index n, Index root) : ReductionTree({{Chain{whole_line(n), root}}}) {
  WAFER_CHECK(0 <= root && root < n, "the root is a core of the line");
}

BinaryTree::BinaryTree(Index n) : ReductionTree(pairs(n)) {}

}  // namespace wafer::mesh
