#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace wafer::io {

/// A file that appears under its name complete or not at all: it is written under a temporary name in the
/// same folder, flushed to the disk, then renamed over whatever had the name. Without commit() it is
/// removed.
class AtomicFile {
public:
  /// @throws InputError if the folder is missing or cannot be written to, or `path` is a directory.
  explicit AtomicFile(const std::filesystem::path& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  /// Appends. @throws InputError if the disk is full or fails.
  void write(std::span<const std::byte> bytes);

  /// The temporary name, for a library that writes by name.
  const std::filesystem::path& temporary() const { return temporary_; }

  /// Gives the file its name. @throws InputError if that fails.
  void commit();

private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

/// Writes a whole file, atomically. @throws InputError as AtomicFile does.
void write_text(const std::filesystem::path& path, std::string_view text);

}  // namespace wafer::io
