#pragma once

#include <optional>
#include <string>

#include "io/json.hpp"
#include "tensor/view.hpp"

namespace wafer::io {

/// A JSON object whose values are asked for by key, type and range. Null counts as absent. What is missing,
/// of another type or out of range throws an InputError that names the file, the key, what was found and
/// what was expected.
class JsonObject {
public:
  /// `where` names the object in messages. @throws InputError unless `value` is an object.
  JsonObject(Json value, std::string where);

  const std::string& where() const { return where_; }

  /// Whether the key is there with a value other than null.
  bool has(const char* key) const;
  /// Whether the key is there at all.
  bool mentions(const char* key) const { return value_.contains(key); }
  /// The value of a key that is there.
  const io::Json& at(const char* key) const { return value_.at(key); }

  JsonObject object(const char* key) const;
  std::string text(const char* key) const;
  std::optional<std::string> optional_text(const char* key) const;
  bool flag(const char* key, bool otherwise) const;

  /// A whole number from `least` to `most`.
  Index whole(const char* key, Index least, Index most) const;
  std::optional<Index> optional_whole(const char* key, Index least, Index most) const;

  /// A number from `least` to `most`.
  double number(const char* key, double least, double most) const;
  double number_or(const char* key, double otherwise, double least, double most) const;
  std::optional<double> optional_number(const char* key, double least, double most) const;

  /// Throws the InputError for this key, with its value.
  [[noreturn]] void refuse(const char* key, const std::string& expected) const;

private:
  Json value_;
  std::string where_;
};

}  // namespace wafer::io
