#pragma once

#include <span>
#include <string_view>

#include "mesh/ktree.hpp"

namespace wafer::fabric {

struct AllReduceAlgorithm;

/// How lines reduce: the levels of a K-tree, the groups of its first one, 0: mesh::default_groups; and
/// whether it is a K-tree at all.
struct ReduceShape {
  Index levels = 2;
  Index groups = 0;
  const AllReduceAlgorithm* algorithm = nullptr;  // null: the K-tree

  const AllReduceAlgorithm& chosen() const;
};

/// One way for a line of cores to add up.
struct AllReduceAlgorithm {
  std::string_view name;
  std::string_view summary;
  /// The chains that lead to the root, which multicasts; null: the ring, which cuts the numbers into chunks.
  mesh::ReductionTree (*tree)(Index cores, const ReduceShape& shape);
};

/// All of them, by the names that the command line knows.
std::span<const AllReduceAlgorithm> all_reduce_algorithms();

/// @throws UsageError that names the known ones
const AllReduceAlgorithm& all_reduce_algorithm(std::string_view name);

}  // namespace wafer::fabric
