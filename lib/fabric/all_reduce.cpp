#include "fabric/all_reduce.hpp"

#include <algorithm>
#include <set>

#include "fabric/exchange.hpp"
#include "fabric/ring_all_reduce.hpp"
#include "plmr/line_reduction.hpp"
#include "plmr/ring_reduction.hpp"

namespace wafer::fabric {

using mesh::Axis, mesh::Rank;

namespace {

bool overlap(mesh::Range a, mesh::Range b) { return a.begin < b.end && b.begin < a.end; }

// What the chains of one level left at their roots: the next level's own values.
class LevelResults {
public:
  void prepare(Index segments) { sums_.assign(at(segments), {}); }
  std::span<float> make(Index local, Index place, Index length) {
    auto& sum = sums_[at(local)][place];
    sum.resize(at(length));
    return sum;
  }
  std::span<const float> find(Index local, Index place) const { return sums_[at(local)].at(place); }

private:
  std::vector<std::map<Index, std::vector<float>>> sums_;  // (local segments) by place
};

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
    if (tile.lines(axis).contains(segment.line) && overlap(tile.places(axis), segment.places))
      local_.push_back({s, segment, tree});
  }
  for (const Group& group : groups_) charged_.push_back({group.lines, group.origin, group.tree, {}, {}});
}

const mesh::ReductionTree* AllReduce::tree_of(Index cores) {
  if (is_ring()) return nullptr;
  const auto known = trees_.find(cores);
  if (known != trees_.end()) return &known->second;
  return &trees_.emplace(cores, shape_.algorithm->tree(cores, shape_)).first->second;
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
  std::size_t levels = 0;
  for (const Local& local : local_) levels = std::max(levels, local.tree->levels().size());
  LevelResults below;
  for (std::size_t level = 0; level < levels; ++level) {
    LevelResults here;
    here.prepare(static_cast<Index>(local_.size()));
    std::vector<ChainJob> jobs;
    std::vector<Index> local_of;  // (jobs)
    for (std::size_t l = 0; l < local_.size(); ++l) {
      if (level >= local_[l].tree->levels().size()) continue;  // shorter segments may be done
      for (const mesh::Chain& chain : local_[l].tree->levels()[level]) {
        const Segment& cores = local_[l].cores;
        jobs.push_back({cores.line, cores.places.begin, &chain, work.length(local_[l].segment)});
        local_of.push_back(static_cast<Index>(l));
      }
    }
    const auto segment_of = [&](Index job) { return local_[at(local_of[at(job)])].segment; };
    std::vector<std::span<float>> results(jobs.size());
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const Index root = jobs[j].origin + jobs[j].chain->root_place();
      if (!fabric_->tile().places(axis_).contains(root)) continue;
      const bool last = level + 1 == local_[at(local_of[j])].tree->levels().size();
      results[j] = last ? work.result(segment_of(static_cast<Index>(j)))
                        : here.make(local_of[j], root, jobs[j].length);
    }
    const auto contribute = [&](Index job, Index place, std::span<float> sum, bool first) {
      if (level == 0) return work.contribute(segment_of(job), place, sum, first);
      const auto own = below.find(local_of[at(job)], place);
      if (first)
        std::copy(own.begin(), own.end(), sum.begin());
      else
        work.combine(own, sum);
    };
    reduce_chains(*fabric_, axis_, jobs,
                  {contribute, work.combine, [&](Index job) { return results[at(job)]; }});
    below = std::move(here);
  }
}

void AllReduce::send_results(const AllReduceWork& work) const {
  // Every rank of the segment but the root's own gets one copy for all of its cores.
  const mesh::Tiling& tiling = fabric_->tiling();
  std::map<Rank, std::vector<float>> outgoing;
  std::map<Rank, std::vector<float>> incoming;
  for (const Local& local : local_) {
    const Index length = work.length(local.segment);
    const auto rank_at = [&](Index place) {
      return tiling.rank_of(mesh::core_at(axis_, local.cores.line, place));
    };
    const Rank source = rank_at(root(local.segment));
    if (source != fabric_->rank()) {
      auto& message = incoming[source];
      message.resize(message.size() + at(length));
      continue;
    }
    std::set<Rank> ranks;
    for (Index place = local.cores.places.begin; place < local.cores.places.end; ++place)
      ranks.insert(rank_at(place));
    ranks.erase(source);
    const auto result = work.result(local.segment);
    for (const Rank rank : ranks) outgoing[rank].insert(outgoing[rank].end(), result.begin(), result.end());
  }
  Exchange exchange(fabric_->communicator());
  for (auto& [peer, message] : incoming) exchange.receive(peer, std::as_writable_bytes(std::span(message)));
  for (const auto& [peer, message] : outgoing) exchange.send(peer, std::as_bytes(std::span(message)));
  exchange.wait();
  std::map<Rank, std::size_t> taken;
  for (const Local& local : local_) {
    const Rank source = tiling.rank_of(mesh::core_at(axis_, local.cores.line, root(local.segment)));
    if (source == fabric_->rank()) continue;
    const auto result = work.result(local.segment);
    std::copy_n(incoming[source].data() + taken[source], result.size(), result.data());
    taken[source] += result.size();
  }
}

}  // namespace wafer::fabric
