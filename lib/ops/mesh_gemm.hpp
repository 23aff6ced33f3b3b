#pragma once

#include "fabric/blocks.hpp"

namespace wafer::ops {

/// C = A B over the whole mesh by cyclic shifts along two interleaved rings (MeshGEMM), on any height x
/// width.
///
/// @param A (M, K)  plain: rows over the mesh's rows, columns over its columns
/// @param B (K, N)  Placement::queued_right whose contraction blocks are those of A's columns; back in place
/// afterwards
/// @return  (M, N)  plain
/// Collective: every rank calls it with the same shapes.
/// Cost: at most NB / 2 rounds to align A, then NB = max(height, width) steps, each one A block and one B
/// block over at most two hops; every core adds its NB products in the order of its place. Source: WaferLLM
/// (OSDI 2025), section 5.3; queues for meshes that are not square.
fabric::Blocks mesh_gemm(const fabric::Fabric& fabric, const fabric::Blocks& A, fabric::Blocks& B);

/// Where mesh_gemm wants its right operand, for a left one whose columns are cut by `contraction`.
fabric::Placement mesh_gemm_right(const fabric::Fabric& fabric, const Partition& contraction,
                                  const Partition& cols);

}  // namespace wafer::ops
