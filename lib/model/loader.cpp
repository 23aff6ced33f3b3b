#include "model/loader.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "kernels/gemm.hpp"
#include "kernels/rounding.hpp"

namespace wafer::model {

using checkpoint::Checkpoint, checkpoint::WeightId;
using fabric::Blocks;

namespace {

constexpr Index most_elements = Index{1} << 21;  // read at a time

DType common_type(const Checkpoint& checkpoint, const std::vector<WeightId>& tensors) {
  const DType type = checkpoint.dtype(tensors.front());
  const bool same =
      std::all_of(tensors.begin(), tensors.end(), [&](WeightId id) { return checkpoint.dtype(id) == type; });
  return same ? type : DType::f32;
}

// Elements that are kept in another type than they are stored in.
std::vector<std::byte> converted(DType stored, DType type, const std::vector<std::byte>& read) {
  std::vector<float> wide(read.size() / size_of(stored));
  kernels::widen(stored, read.data(), wide);
  std::vector<std::byte> kept(wide.size() * size_of(type));
  kernels::narrow(type, wide, kept.data());
  return kept;
}

// Neighbouring columns of a block that come from one tensor.
struct Stretch {
  WeightId tensor;
  Index column = 0;         // of the block, where they begin
  std::vector<Index> rows;  // of the tensor
};

std::vector<Stretch> stretches(const Checkpoint& checkpoint, const std::vector<WeightId>& tensors,
                               std::span<const Index> outputs, Index inputs) {
  const Index most_rows = std::max(Index{1}, most_elements / std::max(Index{1}, inputs));
  std::vector<Index> ends;
  ends.reserve(tensors.size());
  for (const WeightId id : tensors)
    ends.push_back((ends.empty() ? 0 : ends.back()) + checkpoint::shape_of(checkpoint.config(), id).rows);
  std::vector<Stretch> all;
  std::size_t current = tensors.size();  // the tensor of the last stretch
  for (std::size_t column = 0; column < outputs.size(); ++column) {
    const auto tensor =
        static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), outputs[column]) - ends.begin());
    if (tensor != current || static_cast<Index>(all.back().rows.size()) >= most_rows)
      all.push_back({tensors[tensor], static_cast<Index>(column), {}});
    current = tensor;
    all.back().rows.push_back(outputs[column] - (tensor == 0 ? 0 : ends[tensor - 1]));
  }
  return all;
}

// (outputs, inputs) from the file into the blocks (inputs, outputs) of one column of blocks.
template <class Word>
void turn_into(Blocks& matrix, Index j, const std::vector<Index>& parts, const Stretch& stretch,
               const Word* read, Index inputs) {
  Index from = 0;
  for (const Index i : parts) {
    const Shape shape = matrix.shape(i, j);
    auto* block = reinterpret_cast<Word*>(matrix.raw(i, j));
    for (Index row = 0; row < shape.rows; ++row)
      for (std::size_t r = 0; r < stretch.rows.size(); ++r)
        block[row * shape.cols + stretch.column + static_cast<Index>(r)] =
            read[static_cast<Index>(r) * inputs + from + row];
    from += shape.rows;
  }
}

}  // namespace

Blocks load_matrix(const Checkpoint& checkpoint, const std::vector<WeightId>& tensors,
                   const fabric::Fabric& fabric, fabric::Placement placement, DType storage) {
  const DType type = storage == DType::f32 ? common_type(checkpoint, tensors) : storage;
  Blocks matrix(fabric, std::move(placement), type, plmr::Memory::weights);
  const auto& rows = matrix.placement().rows();
  const auto& cols = matrix.placement().cols();
  for (Index j = 0; j < cols.parts(); ++j) {
    std::vector<Index> parts;
    std::vector<Index> inputs;
    for (Index i = 0; i < rows.parts(); ++i)
      if (matrix.here(i, j)) {
        parts.push_back(i);
        inputs.insert(inputs.end(), rows.indices(i).begin(), rows.indices(i).end());
      }
    if (inputs.empty()) continue;
    const auto width = static_cast<Index>(inputs.size());
    for (const Stretch& stretch : stretches(checkpoint, tensors, cols.indices(j), width)) {
      const DType stored = checkpoint.dtype(stretch.tensor);
      std::vector<std::byte> read(stretch.rows.size() * inputs.size() * size_of(stored));
      checkpoint.read(stretch.tensor, stretch.rows, inputs, read);
      if (stored != type) read = converted(stored, type, read);
      if (type == DType::f32)
        turn_into(matrix, j, parts, stretch, reinterpret_cast<const float*>(read.data()), width);
      else
        turn_into(matrix, j, parts, stretch, reinterpret_cast<const std::uint16_t*>(read.data()), width);
    }
  }
  return matrix;
}

}  // namespace wafer::model
