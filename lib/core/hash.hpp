#pragma once

#include <cstdint>
#include <span>

namespace wafer {

/// FNV-1a over the bytes: equal bits give an equal number, on every machine of the same byte order.
/// Continue an earlier hash by passing it as `start`.
inline std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t start = 0xcbf29ce484222325U) {
  std::uint64_t hash = start;
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3U;
  return hash;
}

}  // namespace wafer
