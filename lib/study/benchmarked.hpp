#pragma once

#include <string>

#include "mesh/ktree.hpp"
#include "plmr/execution.hpp"

namespace wafer::study {

/// What one core holds of a layer as the paper's authors timed it: one head as wide as the model, no grouped
/// KV heads, no causal mask, no cache append, every dimension padded to a multiple of the mesh. The sizes
/// are per core. Source: the authors' kernels, as described in docs/model.md.
struct BenchmarkedTiles {
  Index hidden = 0;    // dimensions of the model
  Index sequence = 0;  // tokens
  Index ffn = 0;
};

/// A layer of the authors' prefill benchmark on a square mesh: MeshGEMMs that are aligned in floor(P / 2)
/// rounds, MeshGEMM-T for the scores, all-reduces by two-sided chains.
void benchmarked_prefill(plmr::Execution& execution, const BenchmarkedTiles& tiles);

/// A token of a layer of their decode benchmark, on K-trees of two levels with `groups` groups.
void benchmarked_decode(plmr::Execution& execution, const BenchmarkedTiles& tiles, Index groups);

/// MeshGEMM of any shape as they time it, C (m, n) = A (m, k) B: floor(max(H, W) / 2) alignment rounds.
void timed_gemm(plmr::Execution& execution, Index m, Index k, Index n);
/// MeshGEMM-T of any shape, C (m, n) = A (m, k) B^T.
void timed_gemm_t(plmr::Execution& execution, Index m, Index k, Index n);
/// MeshGEMV of any shape, c (n) = a (k) B.
void timed_gemv(plmr::Execution& execution, Index k, Index n, const mesh::ReductionTree& tree);

/// Their GEMM and GEMV on their own, one tile (m, k) x (k, n) a core; the GEMV without the final multicast
/// where `multicast` is false.
void benchmarked_gemm(plmr::Execution& execution, Index m, Index k, Index n, bool align = true);
void benchmarked_gemv(plmr::Execution& execution, Index k, Index n, Index groups, bool multicast = true);

/// Mean over the cores of the cycles that one call of `run` adds after a call that warms up, as they
/// measured.
template <class Run>
double measured_cycles(plmr::Execution& execution, Run run, Index repeats = 1) {
  run();
  const auto before = execution.clocks();
  for (Index r = 0; r < repeats; ++r) run();
  const auto after = execution.clocks();
  plmr::Ticks sum = 0;
  for (std::size_t core = 0; core < after.size(); ++core) sum += after[core] - before[core];
  return plmr::to_cycles(sum) / static_cast<double>(after.size()) / static_cast<double>(repeats);
}

}  // namespace wafer::study
