#include "io/atomic_file.hpp"

#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/error.hpp"

namespace wafer::io {
namespace {

[[noreturn]] void fail_to_write(const std::filesystem::path& path, int error) {
  std::string remedy;
  if (error == ENOENT || error == ENOTDIR) remedy = "a folder that exists";
  if (error == EACCES || error == EPERM || error == EROFS) remedy = "a folder that you may write to";
  if (error == ENOSPC || error == EDQUOT) remedy = "a place with more room";
  throw InputError(
      {.what = fmt::format("cannot write {}", path.string()), .got = std::strerror(error), .remedy = remedy});
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

/// Makes the new name itself survive a crash. Some file systems cannot flush a folder; that is no failure.
void flush_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(status) || !path.has_filename()) fail_to_write(path, EISDIR);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw InputError({.what = fmt::format("cannot write {}", path.string()),
                      .got = "something that is not a file"});  // a device must not be renamed over
  const auto name = path.filename().string();
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    temporary_ = folder_of(path) / fmt::format(".{}.{}-{}.part", name, ::getpid(), attempt);
    descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && (errno != EEXIST || attempt == 1000)) fail_to_write(path, errno);
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_to_write(path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void AtomicFile::commit() {
  WAFER_CHECK(descriptor_ >= 0, path_.string() + " is committed once");
  if (::fsync(descriptor_) != 0) fail_to_write(path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_to_write(path_, errno);
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) fail_to_write(path_, errno);
  flush_folder(folder_of(path_));
}

void write_text(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace wafer::io
