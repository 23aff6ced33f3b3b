#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/index.hpp"
#include "io/json.hpp"

namespace wafer::tokenizer {

/// Ids stay below this: far above any vocabulary, so that a damaged number cannot claim all memory.
constexpr Index id_limit = Index{1} << 24;

/// A whole number from 0 to id_limit - 1, if `json` is one.
std::optional<Index> id_in(const io::Json& json);

/// A value inside tokenizer.json together with its path, so that every complaint names the place.
/// Every read checks the type: the wrong one is an InputError. Refers to the JSON and to the file's name.
class Field {
public:
  /// The whole document. @param where the file's name in messages
  Field(const io::Json& json, std::string_view where) : json_(&json), where_(where) {}

  /// The value of `key`. @throws InputError where it is missing
  Field at(const std::string& key) const;

  /// The value of `key`, or nothing where it is missing or null.
  std::optional<Field> find(const std::string& key) const;

  /// The elements of a list.
  std::vector<Field> items() const;

  /// The elements of a list, without the paths: for long ones. item(i) is element i as a Field.
  const io::Json::array_t& elements() const;
  Field item(std::size_t i) const;

  /// The members of an object by key.
  const io::Json::object_t& members() const;

  std::string text() const;
  bool flag() const;
  /// The flag named `key`, or `fallback` where it is missing or null.
  bool flag(const std::string& key, bool fallback) const;
  /// A whole number from 0 to id_limit - 1.
  Index id() const;
  /// A text of exactly one character.
  std::string character() const;

  /// Complains about this value. @param expected what would have been right
  [[noreturn]] void refuse(const std::string& expected) const;

  const io::Json& json() const { return *json_; }

  /// "tokenizer.json: model.vocab"
  std::string label() const;

private:
  Field(const io::Json& json, std::string_view where, std::string path)
      : json_(&json), where_(where), path_(std::move(path)) {}
  void require_object() const;

  const io::Json* json_;
  std::string_view where_;
  std::string path_;
};

}  // namespace wafer::tokenizer
