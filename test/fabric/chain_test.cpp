#include "fabric/chain.hpp"

#include <algorithm>

#include "fabric/fold.hpp"
#include "fabric/tilings.hpp"

using namespace wafer;
using fabric::ChainJob, fabric::Fabric;
using mesh::Axis, mesh::Chain, mesh::Mesh;

namespace {

// What a core adds in a job. Sizes differ so much that another order gives other bits.
std::vector<float> own_value(Index line, Index place, Index length) {
  auto values = test::normals(length, static_cast<std::uint64_t>(1 + line * 100 + place));
  for (float& value : values) value *= place % 3 == 0 ? 1e4F : 1.0F;
  return values;
}

void add(std::span<const float> other, std::span<float> sum) {
  for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += other[k];
}
void keep_larger(std::span<const float> other, std::span<float> most) {
  for (std::size_t k = 0; k < most.size(); ++k) most[k] = std::max(most[k], other[k]);
}

// Chains on a line of n places: all roots over all places, and members with gaps behind an origin.
std::vector<std::pair<Chain, Index>> chains_and_origins(Index n) {
  std::vector<std::pair<Chain, Index>> chains;
  Chain whole;
  for (Index place = 0; place < n; ++place) whole.members.push_back(place);
  for (whole.root = 0; whole.root < n; ++whole.root) chains.emplace_back(whole, 0);
  if (n < 4) return chains;
  Chain gaps;
  for (Index place = 0; place + 1 < n; place += 2) gaps.members.push_back(place);
  for (gaps.root = 0; gaps.root < static_cast<Index>(gaps.members.size()); ++gaps.root)
    chains.emplace_back(gaps, 1);
  return chains;
}

// All chains on all lines of this rank's tile, with lengths 0, 1, 2 …
std::vector<ChainJob> jobs_of(const Fabric& fabric, Axis axis,
                              const std::vector<std::pair<Chain, Index>>& chains) {
  std::vector<ChainJob> jobs;
  const mesh::Range lines = fabric.tile().lines(axis);
  for (Index line = lines.begin; line < lines.end && fabric.tile().cores() > 0; ++line)
    for (std::size_t c = 0; c < chains.size(); ++c)
      jobs.push_back({line, chains[c].second, &chains[c].first, static_cast<Index>(c) % 4});
  return jobs;
}

void check_chains(const Fabric& fabric, Axis axis, const test::Combine& combine) {
  const auto chains = chains_and_origins(fabric.mesh().length(axis));
  const auto jobs = jobs_of(fabric, axis, chains);
  std::vector<std::vector<float>> results(jobs.size());
  for (std::size_t j = 0; j < jobs.size(); ++j) results[j].assign(at(jobs[j].length), -77.0F);
  fabric::reduce_chains(fabric, axis, jobs,
                        {[&](Index job, Index place, std::span<float> room) {
                           const auto own = own_value(jobs[at(job)].line, place, jobs[at(job)].length);
                           std::copy(own.begin(), own.end(), room.begin());
                           return room;
                         },
                         combine, [&](Index job) { return std::span(results[at(job)]); }});

  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const ChainJob& job = jobs[j];
    const Index root = job.origin + job.chain->root_place();
    const auto expected = test::fold_chain(
        *job.chain, [&](Index place) { return own_value(job.line, job.origin + place, job.length); },
        combine);
    if (fabric.tile().places(axis).contains(root))
      CHECK(results[j] == expected);
    else
      CHECK(results[j] == std::vector<float>(at(job.length), -77.0F));
  }
}

}  // namespace

TEST_CASE("a chain adds in the order of its members, whatever the tiling, and ends at its root", "[fabric]") {
  for (const Mesh mesh : {Mesh{1, 1}, Mesh{1, 4}, Mesh{2, 3}, Mesh{5, 5}, Mesh{7, 5}, Mesh{1, 11}})
    for (const Axis axis : {Axis::x, Axis::y})
      test::on_every_tiling(mesh, [axis](const Fabric& fabric) {
        check_chains(fabric, axis, add);
        check_chains(fabric, axis, keep_larger);
      });
}

TEST_CASE("a core's value may lie anywhere, and ranks make theirs at the same time", "[fabric]") {
  const fabric::Communicator& world = test::world();
  const Index ranks = world.size();
  const Fabric fabric(world, mesh::Tiling({1, ranks}, world.size()));
  for (Index root = 0; root < ranks; ++root) {
    Chain chain{{}, root};
    for (Index place = 0; place < ranks; ++place) chain.members.push_back(place);
    const ChainJob job{0, 0, &chain, 3};
    const std::vector<float> own(3, static_cast<float>(1 + world.rank().value));
    std::vector<float> sum(3, -77.0F);
    const auto value = [&](Index, Index, std::span<float>) {
      world.barrier();  // would wait for ever if another rank waited for this one's sum first
      return std::span<const float>(own);
    };
    fabric::reduce_chains(fabric, Axis::x, {&job, 1}, {value, add, [&](Index) { return std::span(sum); }});
    const float expected = world.rank().value == root ? static_cast<float>(ranks * (ranks + 1) / 2) : -77.0F;
    CHECK(sum == std::vector<float>(3, expected));
  }
}
