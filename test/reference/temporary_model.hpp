#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <unistd.h>

namespace wafer::test {

/// An empty directory for a model, gone at the end of the test. Its name holds the process, so
/// that tests may run side by side.
class TemporaryModel {
public:
  explicit TemporaryModel(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("wafermesh_" + name + "_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  TemporaryModel(const TemporaryModel&) = delete;
  TemporaryModel& operator=(const TemporaryModel&) = delete;
  ~TemporaryModel() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  void write_config(const std::string& json) const { std::ofstream(path_ / "config.json") << json; }

private:
  std::filesystem::path path_;
};

}  // namespace wafer::test
