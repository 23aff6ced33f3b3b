#include "io/hdf5_reason.hpp"

#include <hdf5.h>

#include "core/error.hpp"

namespace wafer::io {
namespace {

/// Called from the innermost entry of the library's error stack outwards; the first says most.
herr_t note_reason(unsigned depth, const H5E_error2_t* entry, void* out) {
  if (depth == 0 && entry->desc != nullptr) *static_cast<std::string*>(out) = entry->desc;
  return 0;
}

}  // namespace

void prepare_hdf5() {
  // After a file could not be closed (a full disk), the library's own clean-up at exit crashes over it.
  H5dont_atexit();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

std::string hdf5_reason() {
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, note_reason, &reason);
  // Of a failed system call the library tells time, descriptor and addresses; the system's words are in it.
  const std::string mark = "error message = '";
  const auto begin = reason.find(mark);
  if (begin == std::string::npos) return reason.empty() ? "an HDF5 error without a message" : reason;
  const auto end = reason.find('\'', begin + mark.size());
  return reason.substr(begin + mark.size(), end - begin - mark.size());
}

void check_hdf5(std::int64_t result, const std::string& what) {
  if (result < 0) throw InputError({.what = what, .got = hdf5_reason()});
}

}  // namespace wafer::io
