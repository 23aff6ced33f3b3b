#pragma once

#include <filesystem>

#include "plmr/device.hpp"

namespace wafer::report {

/// Reads a device description (data/devices). @throws InputError for a file that cannot be read, for a
/// parameter that is missing or unknown, has another unit or is no number from 0 on: by name.
plmr::Device read_device(const std::filesystem::path& path);

}  // namespace wafer::report
