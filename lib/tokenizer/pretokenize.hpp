#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tokenizer/field.hpp"
#include "tokenizer/piece.hpp"

namespace wafer::tokenizer {

/// Cuts pieces into smaller ones, the words that BPE merges within. Added tokens stay as they are.
using PreTokenizer = std::function<void(std::vector<Piece>&)>;

/// The pre-tokenizer of tokenizer.json: Sequence, Split, ByteLevel, Metaspace or Digits; none cuts nothing.
/// @throws InputError for any other, by name
PreTokenizer read_pre_tokenizer(const std::optional<Field>& field);

/// When Metaspace puts its sign before a text.
enum class PrependScheme { always, first, never };

/// The scheme of a Metaspace pre-tokenizer or decoder: prepend_scheme, or the older add_prefix_space.
PrependScheme read_prepend_scheme(const Field& metaspace);

}  // namespace wafer::tokenizer
