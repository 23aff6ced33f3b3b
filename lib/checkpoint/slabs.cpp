#include "checkpoint/slabs.hpp"

#include <algorithm>

namespace wafer::checkpoint {

void for_each_slab(const ModelConfig& config, const std::function<DType(WeightId)>& dtype,
                   const Progress& progress, const std::function<void(const Slab&)>& visit) {
  constexpr Index slab_bytes = Index{4} << 20;
  const std::vector<WeightId> ids = weights_of(config);
  const auto element_bytes = [&](WeightId id) { return static_cast<Index>(size_of(dtype(id))); };
  std::int64_t total = 0;
  for (const WeightId id : ids) total += shape_of(config, id).size() * element_bytes(id);
  std::int64_t done = 0;
  for (const WeightId id : ids) {
    const Shape shape = shape_of(config, id);
    const Index row_bytes = shape.cols * element_bytes(id);
    const Index most_rows = std::max<Index>(1, slab_bytes / row_bytes);
    for (Index row = 0; row < shape.rows; row += most_rows) {
      const Index rows = std::min(most_rows, shape.rows - row);
      visit({id, row, {rows, shape.cols}});
      done += rows * row_bytes;
      if (progress) progress(done, total);
    }
  }
}

io::TensorSpec spec_of(const ModelConfig& config, WeightId id, DType type) {
  const Shape shape = shape_of(config, id);
  io::TensorSpec tensor{name_of(id), std::string(wafer::name_of(type)), {shape.cols}};
  if (is_matrix(id.weight)) tensor.shape = {shape.rows, shape.cols};
  return tensor;
}

}  // namespace wafer::checkpoint
