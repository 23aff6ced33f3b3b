#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace wafer::test {

/// An empty directory for a model, gone at the end of the test.
class TemporaryModel {
public:
  explicit TemporaryModel(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / ("wafermesh_reference_" + name)) {
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
