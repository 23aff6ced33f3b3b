#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace wafer::io {

/// A table of plain numbers and words: a line of names, then rows; lines that begin with # are left out.
/// No quoting. Every value is asked for by name. @throws InputError, with the file and the line or the column
class Csv {
public:
  explicit Csv(const std::filesystem::path& path);

  std::size_t rows() const { return rows_.size(); }
  const std::string& text(std::size_t row, const std::string& name) const;
  double number(std::size_t row, const std::string& name) const;

private:
  std::filesystem::path path_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace wafer::io
