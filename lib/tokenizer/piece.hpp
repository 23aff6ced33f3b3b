#pragma once

#include <optional>
#include <string>

#include "core/index.hpp"

namespace wafer::tokenizer {

/// A stretch of the text on its way to ids.
struct Piece {
  std::string text;
  std::optional<Index> id = {};  ///< set for an added token, which nothing touches any more
  bool at_start = false;         ///< begins with the first character of the original text
};

}  // namespace wafer::tokenizer
