#pragma once

#include <utility>
#include <vector>

#include "mesh/mesh.hpp"

namespace wafer::mesh {

/// A two-sided chain: the members hand partial results towards the root from both ends; the root adds the
/// side of the higher members first. Members ascend.
struct Chain {
  std::vector<Index> members;  // places on the line
  Index root = 0;              // index into members

  Index root_place() const { return members[at(root)]; }
};

/// How a line of cores reduces: levels of chains. The first level's chains cover the line; each further level
/// chains the roots of the one below; the last level has one chain.
class ReductionTree {
public:
  explicit ReductionTree(std::vector<std::vector<Chain>> levels) : levels_(std::move(levels)) {}

  const std::vector<std::vector<Chain>>& levels() const { return levels_; }
  /// The place where the reduction ends.
  Index root() const { return levels_.back().front().root_place(); }

private:
  std::vector<std::vector<Chain>> levels_;
};

/// K-tree reduction of a line of n cores: K levels of two-sided chains over groups of neighbours. The root of
/// a group of g is its member g / 2. K = 1 is one chain over the whole line. Routes: K + 1 at the final root.
/// Critical path: about n hops and (K / 2) n^(1/K) stages. Source: WaferLLM (OSDI 2025), section 6.
class KTree : public ReductionTree {
public:
  /// @param groups of the first level; 0 chooses default_groups   @pre n >= 1, levels >= 1, 0 <= groups <= n
  explicit KTree(Index n, Index levels = 2, Index groups = 0);
};

/// One chain over the line that ends at `root`. Critical path: the longer side's hops and as many stages.
class Pipeline : public ReductionTree {
public:
  Pipeline(Index n, Index root);
};

/// Pairs, then pairs of their lower members, and so on; ends at place 0. Routes: one in for every level at
/// the root. Critical path: n hops and ceil(log2 n) stages.
class BinaryTree : public ReductionTree {
public:
  explicit BinaryTree(Index n);
};

/// Groups of one level when `levels` are still to come, this one included: the largest divisor of n not above
/// t = n^((levels - 1) / levels), or floor(t) uneven groups when that divisor is below t / 2. For two levels
/// this gives the numbers of the paper's authors: 360: 18, 420: 20, 600: 24, 660: 22, 720: 24.
Index default_groups(Index n, Index levels);

}  // namespace wafer::mesh
