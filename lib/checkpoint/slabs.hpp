#pragma once

#include <cstdint>
#include <functional>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/convert.hpp"
#include "io/stored_tensor.hpp"

namespace wafer::checkpoint {

/// Neighbouring rows of a tensor, few enough to be held in memory.
struct Slab {
  WeightId id;
  Index first_row = 0;
  Shape shape;
};

/// Calls `visit` for all of a model's weights in file order, cut into slabs of at most about 4 MiB (one row,
/// where a row is longer), and `progress` after each.
void for_each_slab(const ModelConfig& config, const std::function<DType(WeightId)>& dtype,
                   const Progress& progress, const std::function<void(const Slab&)>& visit);

/// The name, type and shape under which a file holds a tensor.
io::TensorSpec spec_of(const ModelConfig& config, WeightId id, DType type);

}  // namespace wafer::checkpoint
