#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/bpe.hpp"
#include "tokenizer/field.hpp"
#include "tokenizer/normalize.hpp"
#include "tokenizer/piece.hpp"

namespace wafer::tokenizer {

/// A token that is found in the text before BPE sees it.
struct AddedToken {
  std::string content;
  Index id;
  bool single_word;  ///< only where no letter or digit touches it
  bool lstrip;       ///< takes the white space before it along
  bool rstrip;       ///< takes the white space behind it along
  bool normalized;   ///< is looked for in the normalized text, not in the original one
  bool special;      ///< is left out of decoded text
};

/// The "added_tokens" of the document, special ones first, without those of empty content.
/// @throws InputError for an id other than the one that the tokenizers library would give: the id in the
/// vocabulary, else the next free one behind it
std::vector<AddedToken> read_added_tokens(const Field& document, const Bpe& bpe);

/// Cuts added tokens out of a text: the leftmost first, of those the longest, of equals the first.
class AddedTokenFinder {
public:
  /// @param normalizer rewrites what is looked for
  AddedTokenFinder(const std::vector<AddedToken>& tokens, const Normalizer& normalizer);

  /// Appends the parts of `piece`.
  void split(const Piece& piece, std::vector<Piece>& out) const;

private:
  const AddedToken* find(std::string_view text) const;

  std::vector<AddedToken> tokens_;    ///< content as looked for; longest first
  std::array<bool, 256> is_first_{};  ///< by byte: whether a token begins with it
};

}  // namespace wafer::tokenizer
