#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensor/view.hpp"

namespace wafer::io {

/// Where a tensor lies in a file: little-endian, row-major, without gaps.
struct StoredTensor {
  std::string dtype;         ///< as safetensors names it: "F32", "BF16", …
  std::vector<Index> shape;  ///< empty for a scalar
  std::int64_t offset = 0;   ///< from the start of the file  [bytes]
  std::int64_t bytes = 0;
};

/// A tensor to be written.
struct TensorSpec {
  std::string name;
  std::string dtype;  ///< as safetensors names it
  std::vector<Index> shape;
};

/// Bits of one element of the types that safetensors names; none for a name that is not one.
std::optional<std::int64_t> bits_of(const std::string& dtype);

/// Bytes of a tensor; none where they are too many to count or not a whole number.
std::optional<std::int64_t> bytes_of(std::int64_t bits, const std::vector<Index>& shape);

/// "(3, 4)": for messages.
std::string format_shape(const std::vector<Index>& shape);

}  // namespace wafer::io
