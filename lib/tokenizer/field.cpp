#include "tokenizer/field.hpp"

#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "tokenizer/utf8.hpp"

namespace wafer::tokenizer {

namespace {

/// The value for a message: the beginning is enough to recognise it.
std::string shortened(const io::Json& json) {
  constexpr std::size_t longest = 60;
  std::string text = io::to_text(json);
  if (text.size() <= longest) return text;
  return to_valid_utf8(text.substr(0, longest - incomplete_tail(text.substr(0, longest)))) + "...";
}

}  // namespace

std::optional<Index> id_in(const io::Json& json) {
  const bool fits = json.is_number_unsigned() && json.get<std::uint64_t>() < std::uint64_t{id_limit};
  return fits ? std::optional<Index>(json.get<Index>()) : std::nullopt;
}

void Field::require_object() const {
  if (!json_->is_object()) refuse("an object");
}

Field Field::at(const std::string& key) const {
  require_object();
  const auto found = json_->find(key);
  if (found == json_->end()) throw InputError({.what = label() + " has no \"" + key + "\""});
  return {*found, where_, path_.empty() ? key : path_ + "." + key};
}

std::optional<Field> Field::find(const std::string& key) const {
  require_object();
  const auto found = json_->find(key);
  if (found == json_->end() || found->is_null()) return std::nullopt;
  return at(key);
}

std::vector<Field> Field::items() const {
  std::vector<Field> fields;
  for (std::size_t i = 0; i < elements().size(); ++i) fields.push_back(item(i));
  return fields;
}

const io::Json::array_t& Field::elements() const {
  if (!json_->is_array()) refuse("a list");
  return json_->get_ref<const io::Json::array_t&>();
}

Field Field::item(std::size_t i) const { return {elements()[i], where_, fmt::format("{}[{}]", path_, i)}; }

const io::Json::object_t& Field::members() const {
  require_object();
  return json_->get_ref<const io::Json::object_t&>();
}

std::string Field::text() const {
  if (!json_->is_string()) refuse("a text");
  return json_->get<std::string>();
}

bool Field::flag() const {
  if (!json_->is_boolean()) refuse("true or false");
  return json_->get<bool>();
}

bool Field::flag(const std::string& key, bool fallback) const {
  const std::optional<Field> field = find(key);
  return field ? field->flag() : fallback;
}

Index Field::id() const {
  const std::optional<Index> id = id_in(*json_);
  if (!id) refuse(fmt::format("a whole number from 0 to {}", id_limit - 1));
  return *id;
}

std::string Field::character() const {
  std::string value = text();
  if (value.empty() || character_at(value, 0).bytes != value.size()) refuse("one character");
  return value;
}

void Field::refuse(const std::string& expected) const {
  throw InputError({.what = label(), .got = shortened(*json_), .expected = expected});
}

std::string Field::label() const {
  return path_.empty() ? std::string(where_) : fmt::format("{}: {}", where_, path_);
}

}  // namespace wafer::tokenizer
