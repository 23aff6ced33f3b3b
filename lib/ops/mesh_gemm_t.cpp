#include "ops/mesh_gemm_t.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "fabric/bulk.hpp"
#include "fabric/chain.hpp"
#include "kernels/activation.hpp"
#include "kernels/gemm.hpp"

namespace wafer::ops {

using fabric::Blocks, fabric::Fabric, fabric::Placement, fabric::Use, fabric::Visits;
using mesh::CoreCoord;

mesh::Range RunMesh::shared(const mesh::Tile& tile) const {
  const Index begin = std::max(columns.begin, tile.columns.begin);
  return {begin, std::max(begin, std::min(columns.end, tile.columns.end))};
}

Placement at_rest_on_columns(const RunMesh& run, Partition rows, Partition cols) {
  return {std::move(rows), std::move(cols),
          [queues = run.queues, first = run.columns.begin](Index block, Index j) {
            return CoreCoord{queues.y.place_of_block(block), first + j};
          }};
}

Placement on_owners(const RunMesh& run, Partition rows, Partition blocks) {
  return {std::move(rows), std::move(blocks),
          [queues = run.queues, first = run.columns.begin](Index y, Index block) {
            return CoreCoord{y, first + queues.x.place_of_block(block)};
          }};
}

Visits column_visits(const Fabric& fabric, const RunMesh& run, Blocks& B) {
  const Index steps = run.queues.blocks();
  return {fabric, B, steps, fabric::chunk_of(steps), [&run](const mesh::Tile& tile) {
            return fabric::rotation_uses(
                run.queues.y, tile.rows, run.shared(tile), [](Index) { return Index{0}; },
                [&](Index x, Index block, Index first, Index last) {
                  return Use{block, x - run.columns.begin, first, last};
                });
          }};
}

void mesh_gemm_t_loop(const Fabric& fabric, const RunMesh& run, Blocks& B, Blocks& C,
                      const PartialProduct& product,
                      const std::function<bool(Index row, Index block)>& alive) {
  const mesh::Tile& tile = fabric.tile();
  if (run.shared(tile).size() == 0 || tile.rows.size() == 0) return;
  std::vector<mesh::Chain> chains;  // one for each root: all columns of the run
  for (Index root = 0; root < run.columns.size(); ++root) {
    chains.push_back({{}, root});
    for (Index j = 0; j < run.columns.size(); ++j) chains.back().members.push_back(j);
  }

  Visits shift = column_visits(fabric, run, B);
  fabric::run_chunks(fabric, run.queues.blocks(), {&shift, 1}, [&](mesh::Range steps) {
    std::vector<fabric::ChainJob> jobs;
    std::vector<std::pair<Index, Index>> row_and_block;  // (jobs)
    for (Index y = tile.rows.begin; y < tile.rows.end; ++y)
      for (Index step = steps.begin; step < steps.end; ++step) {
        const Index block = run.queues.y.front(y, step);
        if (!alive(y, block)) continue;
        const mesh::Chain& chain = chains[at(run.owner(block) - run.columns.begin)];
        jobs.push_back({y, run.columns.begin, &chain, C.shape(y, block).size()});
        row_and_block.emplace_back(y, block);
      }
    fabric::reduce_chains(fabric, mesh::Axis::x, jobs,
                          {[&](Index job, Index x, std::span<float> own) {
                             product({row_and_block[at(job)].first, x}, row_and_block[at(job)].second, own);
                             return own;
                           },
                           kernels::add,
                           [&](Index job) {
                             const auto block =
                                 C(row_and_block[at(job)].first, row_and_block[at(job)].second);
                             return std::span<float>(block.data(), at(block.shape().size()));
                           }});
  });
}

plmr::RotatingProduct rotating_product(const RunMesh& run, Index heads, const Partition& rows,
                                       const Partition& blocks, const Partition& depth,
                                       std::function<bool(Index row, Index block)> alive) {
  return {run.columns, heads, rows.sizes(), blocks.sizes(), depth.sizes(), std::move(alive)};
}

Placement mesh_gemm_t_right(const Fabric& fabric, Index rows, const Partition& contraction) {
  const RunMesh run(fabric.mesh().height, {0, fabric.mesh().width});
  const Partition blocks =
      fabric::contraction_blocks(run.queues.y, Partition::even(rows, fabric.mesh().height));
  return at_rest_on_columns(run, blocks, contraction);
}

Blocks mesh_gemm_t(const Fabric& fabric, const Blocks& A, Blocks& B) {
  WAFER_CHECK(A.placement().cols() == B.placement().cols(), "A and B share the contraction's partition");
  const RunMesh run(fabric.mesh().height, {0, fabric.mesh().width});
  const plmr::Operator charged(fabric.execution(), "mesh_gemm_t");
  Blocks C(fabric, on_owners(run, A.placement().rows(), B.placement().rows()));
  fabric.enter();
  if (fabric.execution() != nullptr)
    plmr::scores_product(
        *fabric.execution(), run.queues,
        rotating_product(run, 1, A.placement().rows(), B.placement().rows(), A.placement().cols(), {}));
  const auto product = [&](CoreCoord core, Index block, std::span<float> own) {
    kernels::gemm_nt(A(core.y, core.x), std::as_const(B)(block, core.x), {own.data(), C.shape(core.y, block)},
                     kernels::Output::overwrite);
  };
  mesh_gemm_t_loop(fabric, run, B, C, product, [](Index, Index) { return true; });
  return C;
}

}  // namespace wafer::ops
