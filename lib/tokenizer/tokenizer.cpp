#include "tokenizer/tokenizer.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/error.hpp"
#include "tokenizer/added_tokens.hpp"
#include "tokenizer/bpe.hpp"
#include "tokenizer/decode.hpp"
#include "tokenizer/field.hpp"
#include "tokenizer/normalize.hpp"
#include "tokenizer/post_process.hpp"
#include "tokenizer/pretokenize.hpp"
#include "tokenizer/utf8.hpp"

namespace wafer::tokenizer {

namespace {

/// The tokens that are looked for before normalization, or those after it.
std::vector<AddedToken> those(const std::vector<AddedToken>& tokens, bool normalized) {
  std::vector<AddedToken> chosen;
  std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(chosen),
               [&](const AddedToken& token) { return token.normalized == normalized; });
  return chosen;
}

/// Settings that would change the ids of every text.
void refuse_settings(const Field& document) {
  if (const std::optional<Field> version = document.find("version"); version && version->text() != "1.0")
    version->refuse("1.0");
  for (const char* const key : {"truncation", "padding"})
    if (const std::optional<Field> setting = document.find(key)) setting->refuse("null");
}

}  // namespace

struct Tokenizer::Impl {
  explicit Impl(const Field& document)
      : bpe(document.at("model")),
        normalizer(read_normalizer(document.find("normalizer"))),
        added(read_added_tokens(document, bpe)),
        raw_tokens(those(added, false), [](Piece&) {}),
        normalized_tokens(those(added, true), normalizer),
        pre_tokenizer(read_pre_tokenizer(document.find("pre_tokenizer"))),
        surroundings(read_post_processor(document.find("post_processor"))),
        decoder(document.find("decoder")) {
    refuse_settings(document);
    for (const auto& [text, id] : bpe.vocabulary()) tokens[id] = {text, false};
    for (const AddedToken& token : added) tokens[token.id] = {token.content, token.special};
    for (const auto& [id, token] : tokens) size = std::max(size, id + 1);
    for (const std::optional<Index>& id : surroundings)
      if (id && tokens.count(*id) == 0)
        document.at("post_processor").refuse("ids that are in the vocabulary");
  }

  /// The words and added tokens of a text.
  std::vector<Piece> pieces_of(std::string_view text) const {
    std::vector<Piece> coarse;
    raw_tokens.split({.text = to_valid_utf8(text), .at_start = true}, coarse);
    std::vector<Piece> pieces;
    for (Piece& piece : coarse) {
      if (piece.id) {
        pieces.push_back(std::move(piece));
      } else {
        normalizer(piece);
        normalized_tokens.split(piece, pieces);
      }
    }
    pre_tokenizer(pieces);
    return pieces;
  }

  /// What decoding sees of an id, if anything.
  const std::string* text_of(Index id, bool skip_special) const {
    const auto found = tokens.find(id);
    if (found == tokens.end() || (skip_special && found->second.special)) return nullptr;
    return &found->second.text;
  }

  struct Token {
    std::string text;
    bool special;
  };

  Bpe bpe;
  Normalizer normalizer;
  std::vector<AddedToken> added;
  AddedTokenFinder raw_tokens;
  AddedTokenFinder normalized_tokens;
  PreTokenizer pre_tokenizer;
  Template surroundings;
  Decoder decoder;  ///< nothing decoded yet: copied for each decoding
  std::unordered_map<Index, Token> tokens;
  Index size = 0;
};

Tokenizer::Tokenizer(std::string_view json, const std::string& where) {
  const io::Json document = io::parse_json(json, where);
  impl_ = std::make_unique<Impl>(Field(document, where));
}

Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

std::vector<Index> Tokenizer::encode(std::string_view text, bool add_special) const {
  std::vector<Index> own;
  for (const Piece& piece : impl_->pieces_of(text)) {
    if (piece.id)
      own.push_back(*piece.id);
    else
      impl_->bpe.encode(piece.text, own);
  }
  std::vector<Index> ids;
  for (const std::optional<Index>& id : impl_->surroundings) {
    if (!id)
      ids.insert(ids.end(), own.begin(), own.end());
    else if (add_special)
      ids.push_back(*id);
  }
  return ids;
}

std::string Tokenizer::decode(const std::vector<Index>& ids, bool skip_special) const {
  Decoder decoder = impl_->decoder;
  std::string text;
  for (const Index id : ids)
    if (const std::string* const token = impl_->text_of(id, skip_special)) text += decoder.push(*token);
  return text + decoder.finish();
}

Index Tokenizer::size() const { return impl_->size; }

DecodeStream::DecodeStream(const Tokenizer& tokenizer)
    : tokenizer_(tokenizer), decoder_(std::make_unique<Decoder>(tokenizer.impl_->decoder)) {}

DecodeStream::~DecodeStream() = default;

std::string DecodeStream::push(Index id) {
  const std::string* const token = tokenizer_.impl_->text_of(id, true);
  return token == nullptr ? std::string() : decoder_->push(*token);
}

std::string DecodeStream::finish() {
  std::string rest = decoder_->finish();
  decoder_ = std::make_unique<Decoder>(tokenizer_.impl_->decoder);
  return rest;
}

}  // namespace wafer::tokenizer
