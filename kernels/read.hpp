#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace wafer::kernels {

/// Reads memory and does next to nothing with it: what a kernel that is bound by memory is measured against.
/// Returns a mixture of all that was read.
std::uint64_t read(std::span<const std::byte> memory);

}  // namespace wafer::kernels
