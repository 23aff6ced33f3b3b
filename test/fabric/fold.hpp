#pragma once

#include <functional>
#include <map>
#include <vector>

#include "mesh/ktree.hpp"

namespace wafer::test {

/// What a core has to add to a sum.
using Value = std::function<std::vector<float>(Index place)>;
using Combine = std::function<void(std::span<const float> other, std::span<float> sum)>;

/// A two-sided chain on one process: each side from its far end to the member beside the root; the root
/// starts from its own value and takes the side of the higher members first.
inline std::vector<float> fold_chain(const mesh::Chain& chain, const Value& value, const Combine& combine) {
  const auto last = static_cast<Index>(chain.members.size()) - 1;
  std::vector<float> root = value(chain.root_place());
  std::vector<float> high = value(chain.members[at(last)]);
  for (Index m = last - 1; m > chain.root; --m) combine(value(chain.members[at(m)]), high);
  std::vector<float> low = value(chain.members[0]);
  for (Index m = 1; m < chain.root; ++m) combine(value(chain.members[at(m)]), low);
  if (chain.root < last) combine(high, root);
  if (chain.root > 0) combine(low, root);
  return root;
}

/// A K-tree reduction on one process: level after level of chains over the roots of the level below.
inline std::vector<float> fold_tree(const mesh::ReductionTree& tree, const Value& value,
                                    const Combine& combine) {
  std::map<Index, std::vector<float>> below;
  for (std::size_t level = 0; level < tree.levels().size(); ++level) {
    const auto own = [&](Index place) { return level == 0 ? value(place) : below.at(place); };
    std::map<Index, std::vector<float>> here;
    for (const mesh::Chain& chain : tree.levels()[level])
      here[chain.root_place()] = fold_chain(chain, own, combine);
    below = std::move(here);
  }
  return below.at(tree.root());
}

}  // namespace wafer::test
