#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wafer::tokenizer {

/// Writes every byte as one visible character, as byte-level BPE does: printable Latin-1 stands for itself,
/// the other bytes follow from U+0100 on (a space is U+0120).
std::string to_byte_alphabet(std::string_view bytes);

/// The bytes that `text` stands for, or nothing where a character is outside the alphabet.
std::optional<std::string> from_byte_alphabet(std::string_view text);

}  // namespace wafer::tokenizer
