#include "kernels/read.hpp"

#include "core/vector_clones.hpp"

namespace wafer::kernels {

namespace {

// Four streams, which keep more of the memory busy than one.
WAFER_VECTOR_CLONES std::uint64_t mixed(const std::uint64_t* words, std::size_t count) {
  const std::size_t quarter = count / 4;
  std::uint64_t mixture = 0;
  for (std::size_t k = 0; k < quarter; ++k)
    mixture ^= words[k] ^ words[quarter + k] ^ words[2 * quarter + k] ^ words[3 * quarter + k];
  for (std::size_t k = 4 * quarter; k < count; ++k) mixture ^= words[k];
  return mixture;
}

}  // namespace

std::uint64_t read(std::span<const std::byte> memory) {
  return mixed(reinterpret_cast<const std::uint64_t*>(memory.data()), memory.size() / sizeof(std::uint64_t));
}

}  // namespace wafer::kernels
