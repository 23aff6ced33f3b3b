#include "io/json_object.hpp"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"

namespace wafer::io {
JsonObject::JsonObject(Json value, std::string where) : value_(std::move(value)), where_(std::move(where)) {
  if (!value_.is_object())
    throw InputError({.what = where_, .got = excerpt(value_), .expected = "a JSON object"});
}

bool JsonObject::has(const char* key) const { return mentions(key) && !value_.at(key).is_null(); }

void JsonObject::refuse(const char* key, const std::string& expected) const {
  throw InputError({.what = fmt::format("{}: {}", where_, key),
                    .got = mentions(key) ? excerpt(value_.at(key)) : "nothing",
                    .expected = expected});
}

JsonObject JsonObject::object(const char* key) const {
  if (!has(key) || !value_.at(key).is_object()) refuse(key, "an object");
  return JsonObject(value_.at(key), fmt::format("{}: {}", where_, key));
}

std::optional<std::string> JsonObject::optional_text(const char* key) const {
  if (!has(key)) return std::nullopt;
  if (!value_.at(key).is_string()) refuse(key, "a text");
  return value_.at(key).get<std::string>();
}

std::string JsonObject::text(const char* key) const {
  if (!has(key)) refuse(key, "a text");
  return *optional_text(key);
}

bool JsonObject::flag(const char* key, bool otherwise) const {
  if (!has(key)) return otherwise;
  if (!value_.at(key).is_boolean()) refuse(key, "true or false");
  return value_.at(key).get<bool>();
}

std::optional<Index> JsonObject::optional_whole(const char* key, Index least, Index most) const {
  if (!has(key)) return std::nullopt;
  const io::Json& value = value_.at(key);
  // The parser keeps negative numbers apart, so what is unsigned is not below zero.
  const bool fits = value.is_number_unsigned() &&
                    value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most) &&
                    value.get<Index>() >= least;
  if (!fits) refuse(key, fmt::format("a whole number from {} to {}", least, most));
  return value.get<Index>();
}

Index JsonObject::whole(const char* key, Index least, Index most) const {
  if (!has(key)) refuse(key, fmt::format("a whole number from {} to {}", least, most));
  return *optional_whole(key, least, most);
}

std::optional<double> JsonObject::optional_number(const char* key, double least, double most) const {
  if (!has(key)) return std::nullopt;
  const io::Json& value = value_.at(key);
  if (!value.is_number() || !(value.get<double>() >= least && value.get<double>() <= most))
    refuse(key, fmt::format("a number from {} to {}", least, most));
  return value.get<double>();
}

double JsonObject::number(const char* key, double least, double most) const {
  if (!has(key)) refuse(key, fmt::format("a number from {} to {}", least, most));
  return *optional_number(key, least, most);
}

double JsonObject::number_or(const char* key, double otherwise, double least, double most) const {
  return optional_number(key, least, most).value_or(otherwise);
}

}  // namespace wafer::io
