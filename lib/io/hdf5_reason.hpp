#pragma once

#include <cstdint>
#include <string>

namespace wafer::io {

/// To be called before anything else of the HDF5 library, any number of times. The library then prints no
/// errors, for they become ours, and does nothing when the program ends.
void prepare_hdf5();

/// What the HDF5 library says of the call that failed last.
std::string hdf5_reason();

/// @throws InputError with that reason if an HDF5 call returned a negative number.
void check_hdf5(std::int64_t result, const std::string& what);

}  // namespace wafer::io
