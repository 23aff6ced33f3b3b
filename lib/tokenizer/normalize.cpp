#include "tokenizer/normalize.hpp"

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <utf8proc.h>

#include "core/error.hpp"
#include "tokenizer/regex.hpp"
#include "tokenizer/utf8.hpp"

namespace wafer::tokenizer {

namespace {

Normalizer make_sequence(const Field& field) {
  std::vector<Normalizer> steps;
  for (const Field& item : field.at("normalizers").items()) steps.push_back(read_normalizer(item));
  return [steps](Piece& piece) {
    for (const Normalizer& step : steps) step(piece);
  };
}

Normalizer make_prepend(const Field& field) {
  const std::string prefix = field.at("prepend").text();
  return [prefix](Piece& piece) {
    if (!piece.text.empty()) piece.text.insert(0, prefix);
  };
}

Normalizer make_replace(const Field& field) {
  const Regex regex = read_pattern(field.at("pattern"));
  const std::string content = field.at("content").text();
  // Newer versions of the library fill in groups, older ones do not.
  if (field.at("pattern").find("Regex") && content.find('$') != std::string::npos)
    field.at("content").refuse("a replacement without $");
  return [regex, content](Piece& piece) {
    const std::vector<Span> spans = regex.cover(piece.text);
    if (content.empty() && !spans.empty() && spans.front().match && spans.front().end > 0)
      piece.at_start = false;
    piece.text = regex.replace(piece.text, content);
  };
}

Normalizer make_strip(const Field& field) {
  const bool left = field.at("strip_left").flag();
  const bool right = field.at("strip_right").flag();
  return [left, right](Piece& piece) {
    std::string_view text = piece.text;
    while (right && !text.empty() && is_whitespace(last_character(text).code))
      text.remove_suffix(last_character(text).bytes);
    while (left && !text.empty() && is_whitespace(character_at(text, 0).code)) {
      text.remove_prefix(character_at(text, 0).bytes);
      piece.at_start = false;
    }
    piece.text = std::string(text);
  };
}

/// Character by character, without regard to what stands around it.
void lowercase(Piece& piece) {
  std::string lower;
  for (std::size_t at = 0; at < piece.text.size();) {
    const Character character = character_at(piece.text, at);
    if (character.code == 0x130)  // I with a dot: the one letter whose lower case takes two code points
      lower += "i\xCC\x87";
    else
      append_utf8(lower,
                  static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(character.code))));
    at += character.bytes;
  }
  piece.text = std::move(lower);
}

Normalizer make_unicode_form(int options) {
  return [options](Piece& piece) {
    utf8proc_uint8_t* mapped = nullptr;
    const utf8proc_ssize_t length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(piece.text.data()),
                                                 static_cast<utf8proc_ssize_t>(piece.text.size()), &mapped,
                                                 static_cast<utf8proc_option_t>(options | UTF8PROC_STABLE));
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped, std::free);
    WAFER_CHECK(length >= 0, utf8proc_errmsg(length));
    piece.text.assign(reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(length));
  };
}

}  // namespace

Normalizer read_normalizer(const std::optional<Field>& field) {
  if (!field) return [](Piece&) {};
  const std::string type = field->at("type").text();
  if (type == "Sequence") return make_sequence(*field);
  if (type == "Prepend") return make_prepend(*field);
  if (type == "Replace") return make_replace(*field);
  if (type == "Strip") return make_strip(*field);
  if (type == "Lowercase") return lowercase;
  if (type == "NFC") return make_unicode_form(UTF8PROC_COMPOSE);
  if (type == "NFD") return make_unicode_form(UTF8PROC_DECOMPOSE);
  if (type == "NFKC") return make_unicode_form(UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
  if (type == "NFKD") return make_unicode_form(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
  field->at("type").refuse("Sequence, Prepend, Replace, Strip, Lowercase, NFC, NFD, NFKC or NFKD");
}

}  // namespace wafer::tokenizer
