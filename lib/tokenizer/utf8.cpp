#include "tokenizer/utf8.hpp"

#include <utf8proc.h>

namespace wafer::tokenizer {

namespace {

constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

enum class Sequence { whole, unfinished, invalid };

/// What the first bytes of a text are, and how many they are.
struct Head {
  Sequence kind;
  std::size_t bytes;
};

unsigned byte_at(std::string_view bytes, std::size_t at) { return static_cast<unsigned char>(bytes[at]); }

/// Bytes of a character by its first one; 0 for a byte that begins none.
std::size_t length_by_lead(unsigned lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

/// Second bytes are restricted so that nothing is overlong, a surrogate, or above U+10FFFF.
bool fits_second(unsigned lead, unsigned second) {
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  return second >= low && second <= high;
}

/// @pre `bytes` is not empty
Head head_of(std::string_view bytes) {
  const unsigned lead = byte_at(bytes, 0);
  const std::size_t length = length_by_lead(lead);
  if (length == 0) return {Sequence::invalid, 1};
  for (std::size_t i = 1; i < length; ++i) {
    if (i == bytes.size()) return {Sequence::unfinished, i};
    const unsigned next = byte_at(bytes, i);
    const bool fits = i == 1 ? fits_second(lead, next) : (next & 0xC0) == 0x80;
    if (!fits) return {Sequence::invalid, i};
  }
  return {Sequence::whole, length};
}

}  // namespace

std::string to_valid_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Head head = head_of(bytes);
    text += head.kind == Sequence::whole ? bytes.substr(0, head.bytes) : replacement_character;
    bytes.remove_prefix(head.bytes);
  }
  return text;
}

std::size_t incomplete_tail(std::string_view bytes) {
  for (std::size_t length = 1; length <= 3 && length <= bytes.size(); ++length) {
    const Head head = head_of(bytes.substr(bytes.size() - length));
    if (head.kind == Sequence::unfinished && head.bytes == length) return length;
  }
  return 0;
}

bool is_valid_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const Head head = head_of(bytes);
    if (head.kind != Sequence::whole) return false;
    bytes.remove_prefix(head.bytes);
  }
  return true;
}

Character character_at(std::string_view text, std::size_t at) {
  const unsigned lead = byte_at(text, at);
  const std::size_t length = length_by_lead(lead);
  if (length <= 1) return {lead, 1};
  char32_t code = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) code = (code << 6) | (byte_at(text, at + i) & 0x3FU);
  return {code, length};
}

Character last_character(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (byte_at(text, at) & 0xC0) == 0x80) --at;
  return character_at(text, at);
}

void append_utf8(std::string& text, char32_t code) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes);
  for (utf8proc_ssize_t i = 0; i < length; ++i) text += static_cast<char>(bytes[i]);
}

bool is_whitespace(char32_t code) {
  return (code >= 0x09 && code <= 0x0D) || code == 0x20 || code == 0x85 || code == 0xA0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F ||
         code == 0x205F || code == 0x3000;
}

bool is_word(char32_t code) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
  case UTF8PROC_CATEGORY_LU:
  case UTF8PROC_CATEGORY_LL:
  case UTF8PROC_CATEGORY_LT:
  case UTF8PROC_CATEGORY_LM:
  case UTF8PROC_CATEGORY_LO:
  case UTF8PROC_CATEGORY_MN:
  case UTF8PROC_CATEGORY_MC:
  case UTF8PROC_CATEGORY_ME:
  case UTF8PROC_CATEGORY_ND:
  case UTF8PROC_CATEGORY_NL:
  case UTF8PROC_CATEGORY_PC:
    return true;
  default:  // the two joiners, and the circled and squared letters, which are symbols yet alphabetic
    return code == 0x200C || code == 0x200D || (code >= 0x24B6 && code <= 0x24E9) ||
           (code >= 0x1F130 && code <= 0x1F149) || (code >= 0x1F150 && code <= 0x1F169) ||
           (code >= 0x1F170 && code <= 0x1F189);
  }
}

bool is_numeric(char32_t code) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
         category == UTF8PROC_CATEGORY_NO;
}

}  // namespace wafer::tokenizer
