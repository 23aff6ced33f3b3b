#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include <stdlib.h>  // NOLINT: mkdtemp is not in <cstdlib>

#include "core/error.hpp"
#include "io/atomic_file.hpp"
#include "support/catch.hpp"

namespace wafer::test {

/// A folder of its own for one test, removed at the end.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "wafermesh-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  std::size_t files() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) count += entry.exists() ? 1 : 0;
    return count;
  }

private:
  std::filesystem::path path_;
};

/// The text of the InputError that a call throws; a message that no test expects if it throws none.
template <class Call>
std::string input_error_of(Call call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace wafer::test
