#pragma once

#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "fabric/blocks.hpp"

namespace wafer::model {

/// A matrix (in, out) on the mesh from one or more tensors (out, in) of a checkpoint, side by side: this rank
/// reads only what its cores need, a few MiB at a time.
///
/// @param storage f32: kept as stored, or as float32 where the tensors' types differ; a 16-bit type: all are
/// rounded to it
/// @param placement rows are the input features, columns the outputs of all tensors one after the other
fabric::Blocks load_matrix(const checkpoint::Checkpoint& checkpoint,
                           const std::vector<checkpoint::WeightId>& tensors, const fabric::Fabric& fabric,
                           fabric::Placement placement, DType storage);

}  // namespace wafer::model
