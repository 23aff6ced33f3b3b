#include "kernels/read.hpp"

#include "core/vector_clones.hpp"

namespace wafer::kernels {

namespace {

WAFER_VECTOR_CLONES std::uint64_t mixed(const std::uint64_t* words, std::size_t count) {
  std::uint64_t mixture = 0;
  for (std::size_t k = 0; k < count; ++k) mixture ^= words[k];
  return mixture;
}

}  // namespace

std::uint64_t read(std::span<const std::byte> memory) {
  return mixed(reinterpret_cast<const std::uint64_t*>(memory.data()), memory.size() / sizeof(std::uint64_t));
}

}  // namespace wafer::kernels
