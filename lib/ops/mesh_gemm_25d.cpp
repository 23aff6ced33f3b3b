#include "ops/mesh_gemm_25d.hpp"

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "fabric/bulk.hpp"
#include "fabric/chain.hpp"
#include "fabric/redistribute.hpp"
#include "kernels/activation.hpp"
#include "ops/products.hpp"
#include "plmr/line_reduction.hpp"
#include "plmr/ring_product.hpp"

namespace wafer::ops {

using fabric::Blocks, fabric::Fabric, fabric::Placement, fabric::Use, fabric::Visits;
using mesh::Axis, mesh::Range;

namespace {

// As many regions as asked for, where the mesh has lines for them.
mesh::Mesh regions_of(mesh::Mesh mesh, mesh::Mesh wanted) {
  return {std::min(mesh.height, wanted.height), std::min(mesh.width, wanted.width)};
}

// What a range of the mesh shares with [begin, begin + size), counted from begin.
Range shared(Range range, Index begin, Index size) {
  const Index first = std::clamp(range.begin - begin, Index{0}, size);
  return {first, std::clamp(range.end - begin, first, size)};
}

// The rows of `regions` results, one under the other.
Partition stacked(const Partition& rows, Index regions) {
  std::vector<std::vector<Index>> lists;
  for (Index region = 0; region < regions; ++region)
    for (Index i = 0; i < rows.parts(); ++i) {
      lists.emplace_back();
      for (const Index row : rows.indices(i)) lists.back().push_back(region * rows.length() + row);
    }
  return Partition::of_lists(lists);
}

// Members of a chain that adds `count` results which lie `distance` apart.
mesh::Chain spread(Index count, Index distance) {
  mesh::Chain chain{{}, count / 2};
  for (Index k = 0; k < count; ++k) chain.members.push_back(k * distance);
  return chain;
}

}  // namespace

MeshGemm25d::MeshGemm25d(const Fabric& fabric, mesh::Mesh regions)
    : fabric_(&fabric),
      across_(regions_of(fabric.mesh(), regions)),
      queues_({fabric.mesh().height / across_.height, fabric.mesh().width / across_.width}) {}

Placement MeshGemm25d::right(const Partition& contraction, const Partition& cols) const {
  const Index share = queues_.blocks();
  return {blocks(contraction.length()), Partition::even(cols.length(), queues_.x.cores()),
          [*this, share](Index block, Index j) {
            return core(block / share, queues_.y.holder(block % share, queues_.skew_y(j)), j);
          }};
}

Blocks MeshGemm25d::multiply(const Blocks& A_at_rest, Blocks& B, const Partition& cols) const {
  const plmr::Operator charged(fabric_->execution(), "mesh_gemm_25d");
  const Index share = queues_.blocks();
  const Partition rows = Partition::even(A_at_rest.placement().rows().length(), queues_.y.cores());
  Blocks A(*fabric_, Placement(rows, blocks(A_at_rest.placement().cols().length()),
                               [this, share](Index i, Index block) {
                                 return core(block / share, i, queues_.x.place_of_block(block % share));
                               }));
  WAFER_CHECK(B.placement().rows() == A.placement().cols(), "block l of B has the indices of block l of A");
  fabric::redistribute(*fabric_, A_at_rest, *fabric_, A);
  const Blocks total = sum(rows, products(rows, A, B));
  Blocks C(*fabric_, Placement::plain(A_at_rest.placement().rows(), cols));
  fabric::redistribute(*fabric_, total, *fabric_, C);
  return C;
}

// Every region's MeshGEMM over its share of the contraction.
Blocks MeshGemm25d::products(const Partition& rows, Blocks& A, Blocks& B) const {
  const Fabric& fabric = *fabric_;
  const Index share = queues_.blocks(), height = queues_.y.cores(), width = queues_.x.cores();
  const Partition& cols = B.placement().cols();
  const Partition& contraction = A.placement().cols();
  const fabric::Lease arriving(fabric, plmr::Memory::buffers, [&](CoreCoord at_core) {
    const Index i = at_core.y % height, j = at_core.x % width;
    return (rows.size(i) + cols.size(j)) * contraction.largest();
  });
  Blocks C = Blocks::to_write(
      fabric, Placement(stacked(rows, regions()), cols,
                        [this, height](Index i, Index j) { return core(i / height, i % height, j); }));
  fabric.enter();
  for (Index region = 0; fabric.execution() != nullptr && region < regions(); ++region) {
    std::vector<Index> sizes;
    for (Index l = 0; l < share; ++l) sizes.push_back(contraction.size(region * share + l));
    plmr::ring_product_in(*fabric.execution(), queues_, origin(region), {rows.sizes(), sizes, cols.sizes()});
  }

  const auto visits_of = [&](Blocks& operand, bool left) {
    return Visits(fabric, operand, share, fabric::chunk_of(share), [&, left](const mesh::Tile& tile) {
      std::vector<Use> uses;
      for (Index region = 0; region < regions(); ++region) {
        const Range columns = shared(tile.columns, origin(region).x, width);
        const Range lines = shared(tile.rows, origin(region).y, height);
        const auto some = left ? fabric::rotation_uses(
                                     queues_.x, columns, lines, [&](Index i) { return queues_.skew_x(i); },
                                     [&](Index i, Index l, Index first, Index last) {
                                       return Use{i, region * share + l, first, last};
                                     })
                               : fabric::rotation_uses(
                                     queues_.y, lines, columns, [&](Index j) { return queues_.skew_y(j); },
                                     [&](Index j, Index l, Index first, Index last) {
                                       return Use{region * share + l, j, first, last};
                                     });
        uses.insert(uses.end(), some.begin(), some.end());
      }
      return uses;
    });
  };
  std::array<Visits, 2> shifts = {visits_of(A, true), visits_of(B, false)};
  fabric::run_chunks(fabric, share, shifts, [&](Range steps) {
    for (Index region = 0; region < regions(); ++region)
      multiply_steps(fabric, A, B, C,
                     {shared(fabric.tile().rows, origin(region).y, height),
                      shared(fabric.tile().columns, origin(region).x, width), share,
                      [this](Index i) { return queues_.skew_x(i); },
                      [this](Index j) { return queues_.skew_y(j); }, region * share, region * height},
                     steps);
  });
  return C;
}

// Along X to the middle column of regions, then along Y to the middle row of them.
Blocks MeshGemm25d::sum(const Partition& rows, const Blocks& partial) const {
  const Fabric& fabric = *fabric_;
  const Index height = queues_.y.cores(), width = queues_.x.cores();
  const Partition& cols = partial.placement().cols();
  const auto span_of = [](auto block) { return std::span(block.data(), at(block.shape().size())); };
  if (fabric.execution() != nullptr) charge_sum(rows, cols);

  // One result for each row of regions.
  Blocks row_sums(fabric, Placement(stacked(rows, across_.height), cols, [this, height](Index i, Index j) {
                    return core(i / height * across_.width + home().x, i % height, j);
                  }));
  const mesh::Chain along_x = spread(across_.width, width), along_y = spread(across_.height, height);
  const mesh::Tile& tile = fabric.tile();
  const auto reduce = [&](Axis axis, const mesh::Chain& chain, const Blocks& from, Blocks& to, auto from_row,
                          auto to_row) {
    std::vector<fabric::ChainJob> jobs;
    std::vector<CoreCoord> starts;  // (jobs) the chain's first core
    const Index lines = axis == Axis::x ? across_.height * height : width;
    const Index origins = axis == Axis::x ? width : height;
    const Index first_line = axis == Axis::x ? 0 : home().x * width;
    const Range mine = shared(tile.lines(axis), first_line, lines);
    for (Index line = mine.begin; line < mine.end; ++line)
      for (Index origin = 0; origin < origins; ++origin) {
        const CoreCoord start = mesh::core_at(axis, first_line + line, origin);
        starts.push_back(start);
        jobs.push_back(
            {first_line + line, origin, &chain, from.shape(from_row(start), start.x % width).size()});
      }
    fabric::reduce_chains(
        fabric, axis, jobs,
        {[&](Index job, Index place, std::span<float>) {
           const CoreCoord here = mesh::core_at(axis, jobs[at(job)].line, place);
           return span_of(from(from_row(here), here.x % width));
         },
         kernels::add,
         [&](Index job) { return span_of(to(to_row(starts[at(job)]), starts[at(job)].x % width)); }});
  };
  const auto region_row = [&](CoreCoord here) {
    return (here.y / height * across_.width + here.x / width) * height + here.y % height;
  };
  reduce(Axis::x, along_x, partial, row_sums, region_row, [](CoreCoord start) { return start.y; });
  Blocks total(fabric, Placement(rows, cols, [this](Index i, Index j) {
                 return core(home().y * across_.width + home().x, i, j);
               }));
  reduce(
      Axis::y, along_y, row_sums, total, [](CoreCoord here) { return here.y; },
      [](CoreCoord start) { return start.y; });
  return total;
}

void MeshGemm25d::charge_sum(const Partition& rows, const Partition& cols) const {
  plmr::Execution& execution = *fabric_->execution();
  const Index height = queues_.y.cores(), width = queues_.x.cores();
  const auto add_up = [&](Axis axis, Index count, Index distance, Range lines, auto words_of) {
    if (count < 2) return;
    const mesh::ReductionTree tree({{spread(count, distance)}});
    for (Index origin = 0; origin < distance; ++origin) {
      plmr::LineGroup group{lines, origin, &tree, {}, {}};
      for (Index line = lines.begin; line < lines.end; ++line)
        group.reduce_words.push_back(execution.cost().stream_words(words_of(line, origin)));
      plmr::reduce_lines(execution, axis, {&group, 1});
    }
  };
  add_up(Axis::x, across_.width, width, {0, across_.height * height},
         [&](Index y, Index x) { return rows.size(y % height) * cols.size(x); });
  add_up(Axis::y, across_.height, height, {home().x * width, (home().x + 1) * width},
         [&](Index x, Index y) { return rows.size(y) * cols.size(x % width); });
}

}  // namespace wafer::ops
