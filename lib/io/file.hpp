#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace wafer::io {

/// A file opened for reading at given places. Nothing is mapped or buffered: resident memory is what the
/// caller allocates. Reads may come from several threads at once. Move-only.
class File {
public:
  /// @throws InputError if it is missing, not a regular file or not readable.
  explicit File(const std::filesystem::path& path);
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  const std::filesystem::path& path() const { return path_; }

  /// Bytes when it was opened.
  std::int64_t size() const { return size_; }

  /// Fills `out` with the bytes from `offset` on.
  /// @throws InputError if the file ends before that or the system cannot read it.
  void read_at(std::int64_t offset, std::span<std::byte> out) const;

private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

/// A whole file as text.
/// @throws InputError as File does.
std::string read_text(const std::filesystem::path& path);

}  // namespace wafer::io
