#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "io/file.hpp"
#include "tensor/view.hpp"

namespace wafer::checkpoint {

/// A row-major matrix in a file.
struct StoredMatrix {
  const io::File& file;
  std::int64_t offset = 0;  // [bytes]
  Shape shape;
  std::size_t element_size = 0;  // 2 or 4  [bytes]
};

/// Reads the elements (rows[i], cols[j]) of a matrix into `out`, (rows, cols) row-major without gaps. Rows
/// and columns may come in any order and more than once. What lies close together in the file is read at
/// once, through a buffer of at most 4 MiB, and put in its place from there; whole rows in the file's own
/// order are read straight into `out`.
/// @throws InputError if the file ends early or cannot be read.
void gather(const StoredMatrix& matrix, std::span<const Index> rows, std::span<const Index> cols,
            std::span<std::byte> out);

}  // namespace wafer::checkpoint
