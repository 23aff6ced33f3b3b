#include "core/error.hpp"

#include <algorithm>

namespace wafer {

std::string to_string(const Problem& problem) {
  std::string line = problem.what;
  if (!problem.got.empty()) line += "; got " + problem.got;
  if (!problem.expected.empty()) line += "; expected " + problem.expected;
  if (!problem.remedy.empty()) line += "; try " + problem.remedy;
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

namespace detail {

void fail_check(const char* expr, const char* file, int line, const std::string& message) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": " + expr + " is false: " + message);
}

}  // namespace detail

}  // namespace wafer
