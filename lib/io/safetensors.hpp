#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/atomic_file.hpp"
#include "io/file.hpp"
#include "io/stored_tensor.hpp"

namespace wafer::io {

/// Tensors by name.
using TensorTable = std::map<std::string, StoredTensor>;

/// Reads the header of a safetensors file: a length, then JSON that says where each tensor lies.
/// @throws InputError, with file and tensor by name, unless the header is well-formed and its tensors have
/// a known type, the size that type and shape ask for, and together cover the rest of the file without
/// holes or overlaps.
TensorTable read_safetensors_header(const File& file);

/// Writes a safetensors file piece by piece. It appears under its name at finish(), whole or not at all.
class SafetensorsWriter {
public:
  /// Writes the header. @throws InputError if the file cannot be written.
  SafetensorsWriter(const std::filesystem::path& path, std::span<const TensorSpec> tensors);

  /// The next bytes of the tensors, one tensor after the other in the order of `tensors`.
  void write(std::span<const std::byte> bytes);

  /// @throws InputError if the file cannot be completed, InternalError unless every tensor was written.
  void finish();

private:
  AtomicFile file_;
  std::int64_t missing_ = 0;  // [bytes]
};

}  // namespace wafer::io
