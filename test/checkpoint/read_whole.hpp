#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

#include "checkpoint/checkpoint.hpp"

namespace wafer::checkpoint {

/// A whole tensor as it is stored.
inline std::vector<std::byte> read_whole(const Checkpoint& model, WeightId id) {
  const Shape shape = shape_of(model.config(), id);
  std::vector<Index> rows(static_cast<std::size_t>(shape.rows));
  std::vector<Index> cols(static_cast<std::size_t>(shape.cols));
  std::iota(rows.begin(), rows.end(), Index{0});
  std::iota(cols.begin(), cols.end(), Index{0});
  std::vector<std::byte> bytes(rows.size() * cols.size() * size_of(model.dtype(id)));
  model.read(id, rows, cols, bytes);
  return bytes;
}

}  // namespace wafer::checkpoint
