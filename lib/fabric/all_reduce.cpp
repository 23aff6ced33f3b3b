#include "fabric/all_reduce.hpp"

#include <algorithm>
#include <memory>

#include "fabric/multicast.hpp"
#include "fabric/ring_all_reduce.hpp"
#include "plmr/line_reduction.hpp"
#include "plmr/ring_reduction.hpp"

namespace wafer::fabric {

using mesh::Axis;

namespace {

bool overlap(mesh::Range a, mesh::Range b) { return a.begin < b.end && b.begin < a.end; }

Index root_of(const ChainJob& job) { return job.origin + job.chain->root_place(); }

}  // namespace

AllReduce::AllReduce(const Fabric& fabric, Axis axis, const std::vector<Segment>& segments, ReduceShape shape)
    : fabric_(&fabric), axis_(axis), shape_(shape) {
  if (shape_.algorithm == nullptr) shape_.algorithm = &all_reduce_algorithm("ktree");
  const mesh::Tile& tile = fabric.tile();
  std::map<std::pair<Index, Index>, std::size_t> group_of;  // by places
  for (Index s = 0; s < static_cast<Index>(segments.size()); ++s) {
    const Segment& segment = segments[at(s)];
    const Index cores = segment.places.size();
    const mesh::ReductionTree* tree = tree_of(cores);
    roots_.push_back(segment.places.begin + (tree == nullptr ? ring_root(cores) : tree->root()));
    const auto places = std::pair(segment.places.begin, segment.places.end);
    const auto known = group_of.find(places);
    if (known == group_of.end() || groups_[known->second].lines.end != segment.line) {
      group_of[places] = groups_.size();
      groups_.push_back({{segment.line, segment.line}, segment.places.begin, cores, tree, {}});
    }
    Group& group = groups_[group_of[places]];
    group.lines.end += segment.copies;
    group.segments.insert(group.segments.end(), at(segment.copies), s);
    if (!tile.lines(axis).contains(segment.line) || !overlap(tile.places(axis), segment.places)) continue;
    local_.push_back({s, segment, tree});
    const mesh::Range here = tile.places(axis);
    if (segment.places.begin < here.begin || segment.places.end > here.end)
      crossing_.push_back(local_.back());
  }
  if (!fabric.dry() && !is_ring()) add_levels();
  for (const Group& group : groups_) charged_.push_back({group.lines, group.origin, group.tree, {}, {}});
}

const mesh::ReductionTree* AllReduce::tree_of(Index cores) {
  if (is_ring()) return nullptr;
  const auto known = trees_.find(cores);
  if (known != trees_.end()) return &known->second;
  return &trees_.emplace(cores, shape_.algorithm->tree(cores, shape_)).first->second;
}

void AllReduce::add_levels() {
  const auto levels_of = [&](std::size_t local) { return local_[local].tree->levels().size(); };
  std::size_t levels = 0;
  for (std::size_t l = 0; l < local_.size(); ++l) levels = std::max(levels, levels_of(l));
  levels_.resize(levels);
  for (std::size_t number = 0; number < levels; ++number) {
    Level& level = levels_[number];
    for (std::size_t l = 0; l < local_.size(); ++l) {
      level.first.push_back(level.jobs.size());
      if (number >= levels_of(l)) continue;  // shorter segments may be done
      const Segment& cores = local_[l].cores;
      for (const mesh::Chain& chain : local_[l].tree->levels()[number]) {
        level.jobs.push_back({cores.line, cores.places.begin, &chain, 0});
        level.local_of.push_back(static_cast<Index>(l));
        level.last.push_back(number + 1 == levels_of(l));
      }
    }
    level.first.push_back(level.jobs.size());
  }
}

std::size_t AllReduce::Level::ended_at(Index local, Index place) const {
  const auto begin = jobs.begin() + static_cast<std::ptrdiff_t>(first[at(local)]);
  const auto end = jobs.begin() + static_cast<std::ptrdiff_t>(first[at(local) + 1]);
  const auto job = std::lower_bound(
      begin, end, place, [](const ChainJob& before, Index wanted) { return root_of(before) < wanted; });
  return static_cast<std::size_t>(job - jobs.begin());
}

AllReduce AllReduce::of_lines(const Fabric& fabric, Axis axis, ReduceShape shape) {
  std::vector<Segment> lines;
  for (Index line = 0; line < fabric.mesh().lines(axis); ++line)
    lines.push_back({line, {0, fabric.mesh().length(axis)}});
  return {fabric, axis, lines, shape};
}

std::vector<Index> first_lines(const Fabric& fabric, Axis axis) {
  const mesh::Tiling& tiling = fabric.tiling();
  std::vector<Index> lines;
  for (Index line = 0; line < fabric.mesh().lines(axis); ++line)
    if (line == 0 ||
        tiling.rank_of(mesh::core_at(axis, line, 0)) != tiling.rank_of(mesh::core_at(axis, line - 1, 0)))
      lines.push_back(line);
  return lines;
}

AllReduce AllReduce::of_copies(const Fabric& fabric, Axis axis, ReduceShape shape) {
  std::vector<Segment> lines;
  const auto first = first_lines(fabric, axis);
  for (std::size_t k = 0; k < first.size(); ++k) {
    const Index next = k + 1 < first.size() ? first[k + 1] : fabric.mesh().lines(axis);
    lines.push_back({first[k], {0, fabric.mesh().length(axis)}, next - first[k]});
  }
  return {fabric, axis, lines, shape};
}

Index AllReduce::root(Index segment) const { return roots_[at(segment)]; }

void AllReduce::charge(const AllReduceWork& work, bool multicast) const {
  plmr::Execution& execution = *fabric_->execution();
  const plmr::Cost& cost = execution.cost();
  const auto words_of = [&](Index n) { return work.stream == Stream::pairs ? n : cost.stream_words(n); };
  if (is_ring()) {
    for (const Group& group : groups_) {
      plmr::RingReduction ring{group.lines, group.origin, group.cores, {}, words_of};
      for (const Index segment : group.segments) ring.lengths.push_back(work.length(segment));
      plmr::ring_reduce(execution, axis_, ring);
    }
    return;
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    plmr::LineGroup& charged = charged_[g];
    charged.reduce_words.clear();
    charged.result_words.clear();
    for (const Index segment : groups_[g].segments) {
      const Index n = work.length(segment);
      const Index words = words_of(n);
      charged.reduce_words.push_back(work.stream == Stream::maxima ? cost.max_words(n) : words);
      if (multicast) charged.result_words.push_back(words);
    }
  }
  plmr::reduce_lines(execution, axis_, charged_);
}

void AllReduce::reduce(const AllReduceWork& work, bool multicast) const {
  if (fabric_->execution() != nullptr) charge(work, multicast);
  if (fabric_->dry()) return;
  if (is_ring()) {
    std::vector<RingSegment> segments;
    for (const Local& local : local_) segments.push_back({local.segment, local.cores});
    ring_all_reduce(*fabric_, axis_, segments, work, multicast);
    return;
  }
  reduce_trees(work);
  if (multicast) send_results(work);
}

void AllReduce::reduce_trees(const AllReduceWork& work) const {
  // What a level's chains leave at their roots: the next level's own values. Empty on other ranks.
  std::vector<std::span<float>> results, below;
  std::unique_ptr<float[]> sums, sums_below;  // of the chains that are not a tree's last
  std::vector<ChainJob> jobs;
  for (std::size_t number = 0; number < levels_.size(); ++number) {
    const Level& level = levels_[number];
    const auto segment_of = [&](std::size_t job) { return local_[at(level.local_of[job])].segment; };
    jobs = level.jobs;
    std::size_t floats = 0;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      jobs[j].length = work.length(segment_of(j));
      if (!level.last[j]) floats += at(jobs[j].length);
    }
    std::swap(sums, sums_below);
    std::swap(results, below);
    sums = std::make_unique_for_overwrite<float[]>(floats);
    results.assign(jobs.size(), {});
    float* next = sums.get();
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      if (!fabric_->tile().places(axis_).contains(root_of(jobs[j]))) continue;
      if (level.last[j]) {
        results[j] = work.result(segment_of(j));
        continue;
      }
      results[j] = {next, at(jobs[j].length)};
      next += jobs[j].length;
    }
    const auto value = [&](Index job, Index place, std::span<float> room) -> std::span<const float> {
      if (number == 0) return work.value(segment_of(at(job)), place, room);
      return below[levels_[number - 1].ended_at(level.local_of[at(job)], place)];
    };
    reduce_chains(*fabric_, axis_, jobs, {value, work.combine, [&](Index job) { return results[at(job)]; }});
  }
}

void AllReduce::send_results(const AllReduceWork& work) const {
  if (crossing_.empty()) return;
  std::vector<Multicast> jobs;
  jobs.reserve(crossing_.size());
  for (const Local& local : crossing_)
    jobs.push_back({local.cores.line, local.cores.places, root(local.segment), work.length(local.segment)});
  multicast(*fabric_, axis_, jobs, [&](Index job) { return work.result(crossing_[at(job)].segment); });
}

}  // namespace wafer::fabric
