#include "io/json.hpp"

#include "io/helpers.hpp"

namespace wafer::io {
namespace {

using test::contains;
using test::input_error_of;

std::string error_of(std::string_view text) {
  return input_error_of([&] { parse_json(text, "a.json"); });
}

TEST_CASE("malformed texts are refused with the place") {
  CHECK_THAT(error_of(""), contains("a.json is not valid JSON"));
  CHECK_THAT(error_of("{\"a\": 1"), contains("byte 8 of 7"));
  CHECK_THAT(error_of("{} x"), contains("not valid"));
  CHECK_THAT(error_of("\"\xff\""), contains("not valid"));
}

TEST_CASE("a key may stand once in an object, and again in another") {
  CHECK_THAT(error_of(R"({"a": {"b": 1, "b": 2}})"), contains("the key \"b\" twice"));
  CHECK(parse_json(R"({"a": {"b": 1}, "b": 2})", "a.json")["b"] == 2);
}

TEST_CASE("a number that no double holds is refused") { CHECK_THAT(error_of("[1e999]"), contains("a.json")); }

TEST_CASE("texts go through unchanged") {
  CHECK(to_text(parse_json(R"({"a": ["é", null, 1.5, -3]})", "x")) == R"({"a":["é",null,1.5,-3]})");
}

}  // namespace
}  // namespace wafer::io
