#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include <sys/mman.h>

namespace wafer {

/// Every block begins at a multiple of this, so that a kernel meets the same alignment on every rank. [bytes]
constexpr std::size_t block_alignment = 64;

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + block_alignment - 1) / block_alignment * block_alignment;
}

/// The processor's huge pages: buffers of at least one begin at a multiple and ask for them, since reading
/// weights from memory once a token is slower by a fifth where every 4 KB need an address of their own.
/// [bytes]
constexpr std::size_t huge_page = std::size_t{1} << 21;

/// Owns memory that begins at a multiple of block_alignment; zeroed unless told otherwise. Move-only.
class AlignedBuffer {
public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t bytes, bool zeroed = true) : bytes_(aligned(bytes)) {
    if (bytes_ == 0) return;
    const bool huge = bytes_ >= huge_page;
    void* memory = nullptr;  // std::aligned_alloc would want a multiple of the alignment in bytes, too
    if (posix_memalign(&memory, huge ? huge_page : block_alignment, bytes_) != 0) throw std::bad_alloc();
    data_.reset(static_cast<std::byte*>(memory));
#ifdef MADV_HUGEPAGE
    if (huge) madvise(data_.get(), bytes_ / huge_page * huge_page, MADV_HUGEPAGE);  // advice: may be ignored
#endif
    if (zeroed) std::memset(data_.get(), 0, bytes_);
  }

  std::byte* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }

private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t bytes_ = 0;
};

}  // namespace wafer
