#include "tokenizer/added_tokens.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/error.hpp"
#include "tokenizer/utf8.hpp"

namespace wafer::tokenizer {

namespace {

AddedToken read_token(const Field& field) {
  const bool special = field.flag("special", false);
  return {.content = field.at("content").text(),
          .id = field.at("id").id(),
          .single_word = field.flag("single_word", false),
          .lstrip = field.flag("lstrip", false),
          .rstrip = field.flag("rstrip", false),
          .normalized = field.flag("normalized", !special),
          .special = special};
}

/// Where white space at the end of `text` begins.
std::size_t end_without_space(std::string_view text) {
  while (!text.empty() && is_whitespace(last_character(text).code))
    text.remove_suffix(last_character(text).bytes);
  return text.size();
}

/// Bytes of white space at the beginning of `text`.
std::size_t space_at_start(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_whitespace(character_at(text, at).code)) at += character_at(text, at).bytes;
  return at;
}

bool touches_word(std::string_view before, std::string_view after) {
  return (!before.empty() && is_word(last_character(before).code)) ||
         (!after.empty() && is_word(character_at(after, 0).code));
}

}  // namespace

std::vector<AddedToken> read_added_tokens(const Field& document, const Bpe& bpe) {
  std::vector<AddedToken> tokens;
  const std::optional<Field> list = document.find("added_tokens");
  if (!list) return tokens;
  std::set<std::string> seen;
  auto next = static_cast<Index>(bpe.vocabulary().size());
  for (const Field& field : list->items()) {
    const AddedToken token = read_token(field);
    if (token.content.empty()) continue;
    if (!seen.insert(token.content).second) field.refuse("every added token once");
    const Index id = bpe.id_of(token.content).value_or(next);
    if (id != token.id) field.at("id").refuse(fmt::format("{}, the place of \"{}\"", id, token.content));
    next = std::max(next, id + 1);
    tokens.push_back(token);
  }
  std::stable_partition(tokens.begin(), tokens.end(), [](const AddedToken& token) { return token.special; });
  return tokens;
}

AddedTokenFinder::AddedTokenFinder(const std::vector<AddedToken>& tokens, const Normalizer& normalizer)
    : tokens_(tokens) {
  for (AddedToken& token : tokens_) {
    Piece piece{.text = token.content};
    normalizer(piece);
    if (piece.text.empty())
      throw InputError({.what = fmt::format("added token \"{}\" is empty once normalized", token.content)});
    token.content = piece.text;
    is_first_[static_cast<unsigned char>(token.content.front())] = true;
  }
  std::stable_sort(tokens_.begin(), tokens_.end(), [](const AddedToken& left, const AddedToken& right) {
    return left.content.size() > right.content.size();
  });
}

const AddedToken* AddedTokenFinder::find(std::string_view text) const {
  if (!is_first_[static_cast<unsigned char>(text.front())]) return nullptr;
  const auto found = std::find_if(tokens_.begin(), tokens_.end(), [&](const AddedToken& token) {
    return text.substr(0, token.content.size()) == token.content;
  });
  return found == tokens_.end() ? nullptr : &*found;
}

void AddedTokenFinder::split(const Piece& piece, std::vector<Piece>& out) const {
  const std::string_view text = piece.text;
  std::size_t done = 0;
  const auto emit_text = [&](std::size_t end) {
    if (done >= end) return;
    out.push_back(
        {.text = std::string(text.substr(done, end - done)), .at_start = piece.at_start && done == 0});
  };
  for (std::size_t at = 0; at < text.size();) {
    const AddedToken* const token = find(text.substr(at));
    if (token == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at;
    std::size_t end = at + token->content.size();
    at = end;  // a token that must stand alone and does not still hides shorter ones inside it
    if (token->single_word && touches_word(text.substr(0, begin), text.substr(end))) continue;
    if (token->lstrip) begin = std::max(end_without_space(text.substr(0, begin)), done);
    if (token->rstrip) end += space_at_start(text.substr(end));
    emit_text(begin);
    out.push_back({.text = {}, .id = token->id});
    done = end;
  }
  emit_text(text.size());
}

}  // namespace wafer::tokenizer
