#pragma once

#include <cstdint>
#include <string>

namespace wafer {

/// "5.4 MiB", "812 B": bytes for people.
std::string format_bytes(std::int64_t bytes);

/// "00ff12ab34cd56ef": 16 hex digits.
std::string format_hash(std::uint64_t hash);

}  // namespace wafer
