#include "io/csv.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "core/error.hpp"
#include "io/file.hpp"

namespace wafer::io {

namespace {

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
  if (!line.empty() && line.back() == ',') fields.emplace_back();
  return fields;
}

}  // namespace

Csv::Csv(const std::filesystem::path& path) : path_(path) {
  std::istringstream text(read_text(path));
  std::size_t number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    auto fields = split(line);
    if (names_.empty()) {
      names_ = std::move(fields);
      continue;
    }
    if (fields.size() != names_.size())
      throw InputError({.what = path.string() + ": line " + std::to_string(number),
                        .got = std::to_string(fields.size()) + " values",
                        .expected = std::to_string(names_.size())});
    rows_.push_back(std::move(fields));
  }
}

const std::string& Csv::text(std::size_t row, const std::string& name) const {
  const auto place = std::find(names_.begin(), names_.end(), name);
  if (place == names_.end()) throw InputError({.what = path_.string() + " has no column \"" + name + "\""});
  return rows_.at(row)[static_cast<std::size_t>(place - names_.begin())];
}

double Csv::number(std::size_t row, const std::string& name) const {
  const std::string& value = text(row, name);
  double number = 0.0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size())
    throw InputError(
        {.what = path_.string() + ": " + name, .got = "\"" + value + "\"", .expected = "a number"});
  return number;
}

}  // namespace wafer::io
