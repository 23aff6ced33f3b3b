#include "io/json.hpp"

#include <set>
#include <vector>

#include "core/error.hpp"

namespace wafer::io {

Json parse_json(std::string_view text, const std::string& where) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto note = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      throw InputError(
          {.what = where, .got = "the key \"" + parsed.get<std::string>() + "\" twice in one object"});
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), note);
  } catch (const Json::parse_error& error) {
    throw InputError(
        {.what = where + " is not valid JSON",
         .got = "an error at byte " + std::to_string(error.byte) + " of " + std::to_string(text.size())});
  } catch (const Json::out_of_range&) {
    throw InputError({.what = where + " is not valid JSON", .got = "a number that no double can hold"});
  }
}

std::string to_text(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string excerpt(const Json& value) {
  constexpr std::size_t longest = 80;
  const std::string text = to_text(value);
  return text.size() <= longest ? text : text.substr(0, longest) + "…";
}

}  // namespace wafer::io
