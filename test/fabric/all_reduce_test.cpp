#include "fabric/all_reduce.hpp"

#include <algorithm>

#include "fabric/fold.hpp"
#include "fabric/tilings.hpp"

using namespace wafer;
using fabric::AllReduce, fabric::Fabric, fabric::Segment, fabric::ReduceShape;
using mesh::Axis, mesh::Mesh;

namespace {

constexpr float untouched = -77.0F;

enum class Operation { sum, max };

struct Setting {
  Axis axis = Axis::x;
  std::vector<Segment> segments;
  ReduceShape shape;
  Operation operation = Operation::sum;
  bool copies = false;  // equal on all lines
};

test::Combine combine_of(Operation operation) {
  return [operation](std::span<const float> other, std::span<float> sum) {
    for (std::size_t k = 0; k < sum.size(); ++k)
      sum[k] = operation == Operation::sum ? sum[k] + other[k] : std::max(sum[k], other[k]);
  };
}

Index length_of(Index segment) { return segment * 3 % 5; }  // 0, too

// What a core adds. Sizes differ so much that another order gives other bits.
std::vector<float> own_value(const Setting& setting, Index segment, Index place) {
  const Index line = setting.copies ? 0 : setting.segments[at(segment)].line;
  auto own = test::normals(length_of(segment), static_cast<std::uint64_t>(1 + line * 100 + place));
  for (float& value : own) value *= place % 3 == 0 ? 1e4F : 1.0F;
  return own;
}

// Chunk c starts at ring position c - 1 and ends at c.
std::vector<float> fold_ring(Index cores, Index length, const test::Value& value,
                             const test::Combine& combine) {
  const mesh::Ring ring(cores);
  const auto offsets = part_offsets(length, cores);
  std::vector<float> sum(at(length));
  for (Index c = 0; c < cores; ++c)
    for (Index step = 0; step < cores; ++step) {
      const std::vector<float> own = value(ring.place_of({wrap(c - 1 - step, cores)}));
      const auto begin = at(offsets[at(c)]), size = at(offsets[at(c) + 1]) - begin;
      const auto part = std::span(sum).subspan(begin, size);
      const auto mine = std::span(own).subspan(begin, size);
      if (step == 0)
        std::copy(mine.begin(), mine.end(), part.begin());
      else
        combine(mine, part);
    }
  return sum;
}

std::vector<float> expected_of(const Setting& setting, Index segment) {
  const mesh::Range places = setting.segments[at(segment)].places;
  const auto own = [&](Index place) { return own_value(setting, segment, places.begin + place); };
  const auto* algorithm = setting.shape.algorithm;
  if (algorithm != nullptr && algorithm->tree == nullptr)
    return fold_ring(places.size(), length_of(segment), own, combine_of(setting.operation));
  const mesh::ReductionTree tree =
      algorithm != nullptr
          ? algorithm->tree(places.size(), setting.shape)
          : mesh::KTree(places.size(), setting.shape.levels, std::min(setting.shape.groups, places.size()));
  return test::fold_tree(tree, own, combine_of(setting.operation));
}

std::vector<std::vector<float>> run(const AllReduce& reduce, const Setting& setting, bool multicast) {
  std::vector<std::vector<float>> results(setting.segments.size());
  for (std::size_t s = 0; s < results.size(); ++s)
    results[s].assign(at(length_of(static_cast<Index>(s))), untouched);
  const fabric::AllReduceWork work = {length_of,
                                      [&](Index segment, Index place, std::span<float> room) {
                                        const auto own = own_value(setting, segment, place);
                                        std::copy(own.begin(), own.end(), room.begin());
                                        return room;
                                      },
                                      combine_of(setting.operation),
                                      [&](Index segment) { return std::span(results[at(segment)]); }};
  if (multicast)
    reduce.run(work);
  else
    reduce.run_to_root(work);
  return results;
}

// Every rank that a segment crosses has its result; without multicast, only the root's has.
void check(const Fabric& fabric, const AllReduce& reduce, const Setting& setting) {
  CAPTURE(setting.axis == Axis::x, setting.shape.levels, setting.shape.groups);
  const auto everywhere = run(reduce, setting, true);
  const auto at_root = run(reduce, setting, false);
  for (std::size_t s = 0; s < setting.segments.size(); ++s) {
    const Segment& segment = setting.segments[s];
    const auto expected = expected_of(setting, static_cast<Index>(s));
    const std::vector<float> nothing(expected.size(), untouched);
    bool shares = false;
    for (Index place = segment.places.begin; place < segment.places.end; ++place)
      shares = shares || fabric.tile().contains(mesh::core_at(setting.axis, segment.line, place));
    const auto root = mesh::core_at(setting.axis, segment.line, reduce.root(static_cast<Index>(s)));
    CHECK(everywhere[s] == (shares ? expected : nothing));
    CHECK(at_root[s] == (fabric.tile().contains(root) ? expected : nothing));
  }
}

const std::vector<Mesh> meshes = {{1, 1}, {1, 4}, {2, 3}, {5, 5}, {7, 5}, {1, 13}};

std::vector<ReduceShape> shapes() {
  std::vector<ReduceShape> all;
  for (const Index levels : {1, 2, 3, 5})
    for (const Index groups : {0, 1, 2, 3, 13}) all.push_back({levels, groups});
  return all;
}

std::vector<Segment> whole_lines(const Fabric& fabric, Axis axis) {
  std::vector<Segment> segments;
  for (Index line = 0; line < fabric.mesh().lines(axis); ++line)
    segments.push_back({line, {0, fabric.mesh().length(axis)}});
  return segments;
}

// Every line cut into runs of 1, 2, 3 … cores.
std::vector<Segment> runs_of_lines(const Fabric& fabric, Axis axis) {
  std::vector<Segment> segments;
  const Index n = fabric.mesh().length(axis);
  for (Index line = 0; line < fabric.mesh().lines(axis); ++line)
    for (Index begin = 0, size = 1; begin < n; begin += size++)
      segments.push_back({line, {begin, std::min(n, begin + size)}});
  return segments;
}

}  // namespace

TEST_CASE("an all-reduce of lines adds in the order of the tree, bit for bit, on every tiling", "[fabric]") {
  for (const Mesh mesh : meshes)
    test::on_every_tiling(mesh, [](const Fabric& fabric) {
      for (const Axis axis : {Axis::x, Axis::y})
        for (const ReduceShape shape : shapes())
          check(fabric, AllReduce::of_lines(fabric, axis, {shape.levels, std::min(shape.groups, Index{13})}),
                {axis, whole_lines(fabric, axis), shape, Operation::sum, false});
    });
}

TEST_CASE("an all-reduce of maxima finds the same on every tiling", "[fabric]") {
  for (const Mesh mesh : meshes)
    test::on_every_tiling(mesh, [](const Fabric& fabric) {
      for (const Axis axis : {Axis::x, Axis::y})
        check(fabric, AllReduce::of_lines(fabric, axis),
              {axis, whole_lines(fabric, axis), {}, Operation::max, false});
    });
}

TEST_CASE("segments of lines reduce among themselves", "[fabric]") {
  for (const Mesh mesh : meshes)
    test::on_every_tiling(mesh, [](const Fabric& fabric) {
      for (const Axis axis : {Axis::x, Axis::y})
        for (const ReduceShape shape :
             {ReduceShape{1, 0}, ReduceShape{2, 0}, ReduceShape{2, 2}, ReduceShape{3, 0}}) {
          const auto segments = runs_of_lines(fabric, axis);
          check(fabric, AllReduce(fabric, axis, segments, shape),
                {axis, segments, shape, Operation::sum, false});
        }
    });
}

TEST_CASE("every all-reduce adds in its own order, on whole lines and on runs", "[fabric]") {
  for (const auto& algorithm : fabric::all_reduce_algorithms())
    for (const Mesh mesh : meshes)
      test::on_every_tiling(mesh, [&](const Fabric& fabric) {
        CAPTURE(std::string(algorithm.name));
        const ReduceShape shape{2, 0, &algorithm};
        for (const Axis axis : {Axis::x, Axis::y})
          for (const Operation operation : {Operation::sum, Operation::max})
            for (const auto& segments : {whole_lines(fabric, axis), runs_of_lines(fabric, axis)})
              check(fabric, AllReduce(fabric, axis, segments, shape),
                    {axis, segments, shape, operation, false});
      });
}

TEST_CASE("an all-reduce of copies gives every rank the sum that whole lines would give", "[fabric]") {
  for (const Mesh mesh : meshes)
    test::on_every_tiling(mesh, [](const Fabric& fabric) {
      for (const Axis axis : {Axis::x, Axis::y}) {
        std::vector<Segment> segments;
        for (const Index line : fabric::first_lines(fabric, axis))
          segments.push_back({line, {0, fabric.mesh().length(axis)}});
        const Setting setting = {axis, segments, {}, Operation::sum, true};
        check(fabric, AllReduce::of_copies(fabric, axis), setting);
        Index mine = 0;
        for (const Segment& segment : segments)
          mine += fabric.tile().cores() > 0 && fabric.tile().lines(axis).contains(segment.line) ? 1 : 0;
        CHECK(mine == (fabric.tile().cores() > 0 ? 1 : 0));
      }
    });
}
