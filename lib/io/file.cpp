#include "io/file.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.hpp"

namespace wafer::io {
namespace {

[[noreturn]] void fail_to_read(const std::filesystem::path& path, const std::string& got) {
  throw InputError({.what = fmt::format("cannot read {}", path.string()), .got = got});
}

}  // namespace

File::File(const std::filesystem::path& path) : path_(path) {
  // O_NONBLOCK: opening a pipe by mistake must not wait for its other end.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) fail_to_read(path, std::strerror(errno));
  struct stat status = {};
  const bool known = ::fstat(descriptor_, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);  // no destructor runs for a half-made object
    fail_to_read(path, known && S_ISDIR(status.st_mode) ? "a directory" : "something that is not a file");
  }
  size_ = status.st_size;
}

File::File(File&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

File& File::operator=(File&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void File::read_at(std::int64_t offset, std::span<std::byte> out) const {
  WAFER_CHECK(offset >= 0, path_.string());
  while (!out.empty()) {
    const ssize_t count = ::pread(descriptor_, out.data(), out.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_to_read(path_, std::strerror(errno));
    if (count == 0)
      throw InputError(
          {.what = fmt::format("{} ends early", path_.string()),
           .got = fmt::format("{} bytes", offset),
           .expected = fmt::format("at least {}", offset + static_cast<std::int64_t>(out.size())),
           .remedy = "copying or downloading it again"});
    out = out.subspan(static_cast<std::size_t>(count));
    offset += count;
  }
}

std::string read_text(const std::filesystem::path& path) {
  const File file(path);
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace wafer::io
