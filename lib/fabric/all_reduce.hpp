#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "fabric/all_reduce_algorithm.hpp"
#include "fabric/chain.hpp"
#include "plmr/line_reduction.hpp"

namespace wafer::fabric {

/// Neighbouring cores of a line that reduce among themselves.
struct Segment {
  Index line = 0;
  mesh::Range places;
  Index copies = 1;  // lines, this one first, that do the same with the same values
};

/// The first line along the axis of each row or column of tiles.
std::vector<Index> first_lines(const Fabric& fabric, mesh::Axis axis);

/// What a reduction's numbers are, and so how many words they take on the wafer.
enum class Stream {
  sums,
  maxima,
  pairs,  ///< 32 bits each
};

/// What the cores of an all-reduce do. Calls for different segments may come from different threads.
struct AllReduceWork {
  std::function<Index(Index segment)> length;
  /// The own value of the core at `place`: written to `room` and that returned, or where it lies already.
  /// Called once.
  std::function<std::span<const float>(Index segment, Index place, std::span<float> room)> value;
  std::function<void(std::span<const float> other, std::span<float> sum)> combine;
  /// Where the result goes on this rank: once, as it is the same for all of the segment's cores.
  std::function<std::span<float>(Index segment)> result;
  Stream stream = Stream::sums;
};

/// All-reduce over segments of lines by any of all_reduce_algorithms(): by default the K-tree, levels of
/// two-sided chains and then a multicast from the root. Source: WaferLLM (OSDI 2025), section 6.
class AllReduce {
public:
  /// @param segments of the whole mesh; a rank keeps those that its tile shares   `fabric` must outlive this.
  AllReduce(const Fabric& fabric, mesh::Axis axis, const std::vector<Segment>& segments,
            ReduceShape shape = {});

  AllReduce(AllReduce&&) = default;
  AllReduce& operator=(AllReduce&&) = default;

  /// Every line of the mesh along the axis, whole.
  static AllReduce of_lines(const Fabric& fabric, mesh::Axis axis, ReduceShape shape = {});
  /// For values that are the same on every line along the axis: one line for each row or column of tiles
  /// stands for all.
  static AllReduce of_copies(const Fabric& fabric, mesh::Axis axis, ReduceShape shape = {});

  /// Collective among the ranks that share lines. Segment numbers are those of the list given.
  void run(const AllReduceWork& work) const { reduce(work, true); }
  /// The same without the multicast: the result is at the root's rank only.
  void run_to_root(const AllReduceWork& work) const { reduce(work, false); }

  /// The place of a segment's root on its line.
  Index root(Index segment) const;

private:
  struct Local {
    Index segment = 0;
    Segment cores;
    const mesh::ReductionTree* tree = nullptr;
  };
  // The chains of one level of all of this rank's trees: segment after segment, roots ascending. Their
  // lengths are the call's.
  struct Level {
    std::vector<ChainJob> jobs;
    std::vector<Index> local_of;     // (jobs) which of this rank's segments
    std::vector<bool> last;          // (jobs) the tree's last
    std::vector<std::size_t> first;  // (segments of this rank + 1) their first jobs

    /// The job of a segment that ended at `place`.
    std::size_t ended_at(Index local, Index place) const;
  };
  const mesh::ReductionTree* tree_of(Index cores);
  void add_levels();
  bool is_ring() const { return shape_.algorithm != nullptr && shape_.algorithm->tree == nullptr; }
  void reduce_trees(const AllReduceWork& work) const;
  void reduce(const AllReduceWork& work, bool multicast) const;
  void send_results(const AllReduceWork& work) const;
  void charge(const AllReduceWork& work, bool multicast) const;

  const Fabric* fabric_;
  mesh::Axis axis_;
  ReduceShape shape_;
  std::map<Index, mesh::ReductionTree> trees_;  // by number of cores; none for the ring
  std::vector<Local> local_;
  std::vector<Local> crossing_;  // those of them that other ranks share
  std::vector<Level> levels_;    // of trees that are not only counted
  std::vector<Index> roots_;     // (segments)
  // Neighbouring lines that reduce the same places, all of the mesh.
  struct Group {
    mesh::Range lines;
    Index origin = 0;
    Index cores = 0;
    const mesh::ReductionTree* tree = nullptr;
    std::vector<Index> segments;  // (lines)
  };
  std::vector<Group> groups_;
  mutable std::vector<plmr::LineGroup> charged_;  // (groups) memory that charge() fills anew
};

}  // namespace wafer::fabric
