#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wafer::tokenizer {

/// The bytes with each invalid part replaced by U+FFFD, where a part is as long as it could still have become
/// a character (the Unicode standard's practice, and what Python's errors="replace" does).
std::string to_valid_utf8(std::string_view bytes);

/// How many bytes at the end are the beginning of a character that is not finished; 0 to 3.
std::size_t incomplete_tail(std::string_view bytes);

/// Whether all bytes are whole characters.
bool is_valid_utf8(std::string_view bytes);

/// A code point and the bytes it takes.
struct Character {
  char32_t code;
  std::size_t bytes;
};

/// The character that begins at byte `at`. @pre `text` is valid UTF-8 and `at` is the start of a character
Character character_at(std::string_view text, std::size_t at);

/// The last character. @pre `text` is valid UTF-8 and not empty
Character last_character(std::string_view text);

/// Appends a code point as UTF-8.
void append_utf8(std::string& text, char32_t code);

/// Unicode's White_Space.
bool is_whitespace(char32_t code);

/// What a regular expression's \w takes: letters, marks, decimal digits, connectors, joiners.
bool is_word(char32_t code);

/// Any of Unicode's number categories: Nd, Nl, No.
bool is_numeric(char32_t code);

}  // namespace wafer::tokenizer
