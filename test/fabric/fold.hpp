#pragma once

#include <functional>
#include <map>
#include <vector>

#include "mesh/ktree.hpp"

namespace wafer::test {

/// What a core adds to a sum, or starts it with where it is the first.
using Contribute = std::function<void(Index place, std::span<float> sum, bool first)>;
using Combine = std::function<void(std::span<const float> other, std::span<float> sum)>;

/// A two-sided chain on one process: each side from its far end to the member beside the root; the root
/// starts from its own value and takes the side of the higher members first.
inline std::vector<float> fold_chain(const mesh::Chain& chain, Index length, const Contribute& contribute,
                                     const Combine& combine) {
  std::vector<float> root(at(length)), high(at(length)), low(at(length));
  const auto last = static_cast<Index>(chain.members.size()) - 1;
  for (Index m = last; m > chain.root; --m) contribute(chain.members[at(m)], high, m == last);
  for (Index m = 0; m < chain.root; ++m) contribute(chain.members[at(m)], low, m == 0);
  contribute(chain.root_place(), root, true);
  if (chain.root < last) combine(high, root);
  if (chain.root > 0) combine(low, root);
  return root;
}

/// A K-tree reduction on one process: level after level of chains over the roots of the level below.
inline std::vector<float> fold_tree(const mesh::ReductionTree& tree, Index length,
                                    const Contribute& contribute, const Combine& combine) {
  std::map<Index, std::vector<float>> below;
  for (std::size_t level = 0; level < tree.levels().size(); ++level) {
    const auto own = [&](Index place, std::span<float> sum, bool first) {
      if (level == 0)
        contribute(place, sum, first);
      else if (first)
        std::copy(below.at(place).begin(), below.at(place).end(), sum.begin());
      else
        combine(below.at(place), sum);
    };
    std::map<Index, std::vector<float>> here;
    for (const mesh::Chain& chain : tree.levels()[level])
      here[chain.root_place()] = fold_chain(chain, length, own, combine);
    below = std::move(here);
  }
  return below.at(tree.root());
}

}  // namespace wafer::test
