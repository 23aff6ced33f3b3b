#pragma once

#include "fabric/all_reduce.hpp"
#include "fabric/blocks.hpp"

namespace wafer::ops {

/// c = a B: every core multiplies its part of a with its block of B, and a K-tree all-reduce adds the
/// products along the axis over which a is cut (MeshGEMV).
///
/// @param lines all-reduce of the whole lines along the axis over which a is cut: Y for a plain B, X for a
/// turned one
/// @param a (K)     copied along the other axis
/// @param B (K, N)  plain or turned
/// @return  (N)     copied along the axis of `lines`
/// Collective. Cost: one local GEMV, one all-reduce of N / lines numbers.   Source: WaferLLM (OSDI 2025),
/// section 6.
fabric::Blocks mesh_gemv(const fabric::Fabric& fabric, mesh::Axis axis, const fabric::AllReduce& lines,
                         const fabric::Blocks& a, const fabric::Blocks& B);

/// The same, but the sum stays with the roots: part j of c lies only on the rank of the root of line j.
fabric::Blocks mesh_gemv_to_root(const fabric::Fabric& fabric, mesh::Axis axis,
                                 const fabric::AllReduce& lines, const fabric::Blocks& a,
                                 const fabric::Blocks& B);

}  // namespace wafer::ops
