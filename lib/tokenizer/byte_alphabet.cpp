#include "tokenizer/byte_alphabet.hpp"

#include <array>
#include <cstddef>
#include <map>

#include "tokenizer/utf8.hpp"

namespace wafer::tokenizer {

namespace {

bool stands_for_itself(char32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

std::array<char32_t, 256> make_alphabet() {
  std::array<char32_t, 256> codes{};
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) codes[byte] = stands_for_itself(byte) ? byte : next++;
  return codes;
}

const std::array<char32_t, 256>& alphabet() {
  static const std::array<char32_t, 256> codes = make_alphabet();
  return codes;
}

std::map<char32_t, char> make_inverse() {
  std::map<char32_t, char> bytes;
  for (std::size_t byte = 0; byte < 256; ++byte) bytes[alphabet()[byte]] = static_cast<char>(byte);
  return bytes;
}

}  // namespace

std::string to_byte_alphabet(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) append_utf8(text, alphabet()[static_cast<unsigned char>(byte)]);
  return text;
}

std::optional<std::string> from_byte_alphabet(std::string_view text) {
  static const std::map<char32_t, char> inverse = make_inverse();
  std::string bytes;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    const auto found = inverse.find(character.code);
    if (found == inverse.end()) return std::nullopt;
    bytes += found->second;
    at += character.bytes;
  }
  return bytes;
}

}  // namespace wafer::tokenizer
