#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace wafer::io {

/// The JSON library's value type. Its header is included here and nowhere else.
using Json = nlohmann::json;

/// Parses a whole text. `where` names it in messages.
/// @throws InputError where the text is malformed (with the byte at which it is) or an object has a key
/// twice.
Json parse_json(std::string_view text, const std::string& where);

/// `value` written in full, without line breaks.
std::string to_text(const Json& value);

/// The start of that, for messages.
std::string excerpt(const Json& value);

}  // namespace wafer::io
