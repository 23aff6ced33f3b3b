#pragma once

#include <functional>
#include <optional>

#include "tokenizer/field.hpp"
#include "tokenizer/piece.hpp"

namespace wafer::tokenizer {

/// Rewrites the text of a piece before it is cut.
using Normalizer = std::function<void(Piece&)>;

/// The normalizer of tokenizer.json: Sequence, Prepend, Replace, Strip, Lowercase, NFC, NFD, NFKC or NFKD;
/// none leaves the text alone.
/// @throws InputError for any other, by name
Normalizer read_normalizer(const std::optional<Field>& field);

}  // namespace wafer::tokenizer
