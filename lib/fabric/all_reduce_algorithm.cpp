#include "fabric/all_reduce_algorithm.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "core/error.hpp"

namespace wafer::fabric {

using mesh::ReductionTree;

namespace {

constexpr std::array algorithms = {
    AllReduceAlgorithm{"ktree", "K levels of two-sided chains, then a multicast",
                       [](Index cores, const ReduceShape& shape) -> ReductionTree {
                         return mesh::KTree(cores, shape.levels, std::min(shape.groups, cores));
                       }},
    AllReduceAlgorithm{
        "pipeline", "one chain from either end to the middle, then a multicast",
        [](Index cores, const ReduceShape&) -> ReductionTree { return mesh::Pipeline(cores, cores / 2); }},
    AllReduceAlgorithm{
        "pipeline-corner", "one chain to the first core, then a multicast: the vendor's default",
        [](Index cores, const ReduceShape&) -> ReductionTree { return mesh::Pipeline(cores, 0); }},
    AllReduceAlgorithm{
        "tree", "pairs, pairs of pairs, and so on, then a multicast",
        [](Index cores, const ReduceShape&) -> ReductionTree { return mesh::BinaryTree(cores); }},
    AllReduceAlgorithm{"ring", "chunks go round a ring: reduce-scatter, then allgather", nullptr},
};

}  // namespace

const AllReduceAlgorithm& ReduceShape::chosen() const {
  return algorithm != nullptr ? *algorithm : algorithms.front();
}

std::span<const AllReduceAlgorithm> all_reduce_algorithms() { return algorithms; }

const AllReduceAlgorithm& all_reduce_algorithm(std::string_view name) {
  const auto found =
      std::find_if(algorithms.begin(), algorithms.end(),
                   [&](const AllReduceAlgorithm& algorithm) { return algorithm.name == name; });
  if (found != algorithms.end()) return *found;
  std::string known;
  for (const AllReduceAlgorithm& algorithm : algorithms)
    known += (known.empty() ? "" : ", ") + std::string(algorithm.name);
  throw UsageError({.what = "no such all-reduce", .got = "\"" + std::string(name) + "\"", .expected = known});
}

}  // namespace wafer::fabric
