#include "tokenizer/bpe.hpp"

#include <queue>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "tokenizer/utf8.hpp"

namespace wafer::tokenizer {

namespace {

std::uint64_t pair_key(Index left, Index right) {
  static_assert(id_limit <= Index{1} << 32);
  return (static_cast<std::uint64_t>(left) << 32) | static_cast<std::uint64_t>(right);
}

/// The two tokens of a merge.
struct Pair {
  std::string_view left;
  std::string_view right;
};

std::string_view view_of(const io::Json& text) { return text.get_ref<const std::string&>(); }

/// "a b" or ["a", "b"]; nothing where it is neither.
std::optional<Pair> pair_in(const io::Json& merge) {
  if (merge.is_array()) {
    if (merge.size() != 2 || !merge[0].is_string() || !merge[1].is_string()) return std::nullopt;
    return Pair{view_of(merge[0]), view_of(merge[1])};
  }
  if (!merge.is_string()) return std::nullopt;
  const std::string_view text = view_of(merge);
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos)
    return std::nullopt;
  return Pair{text.substr(0, space), text.substr(space + 1)};
}

/// The first line of a merges.txt may have come along.
bool is_version_line(const io::Json& merge) {
  return merge.is_string() && view_of(merge).substr(0, 8) == "#version";
}

void refuse_options(const Field& model) {
  if (const std::optional<Field> type = model.find("type"); type && type->text() != "BPE")
    type->refuse("BPE");
  if (const std::optional<Field> dropout = model.find("dropout"); dropout && dropout->json() != 0.0)
    dropout->refuse("null: encoding at random is not supported");
  for (const char* const key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (const std::optional<Field> affix = model.find(key); affix && !affix->text().empty())
      affix->refuse("null: marked subwords are not supported");
}

}  // namespace

/// A token of a word that is being merged; neighbours are linked by position, -1 at the ends.
struct Bpe::Symbol {
  Index id;
  Index previous;
  Index next;
  bool alive;
};

/// A merge that was possible when it was noted.
struct Bpe::Candidate {
  std::int64_t rank;
  Index position;
  Index id;
  bool operator<(const Candidate& other) const {  // the queue hands out the largest
    return rank != other.rank ? rank > other.rank : position > other.position;
  }
};

Bpe::Bpe(const Field& model)
    : where_(model.label()),
      fuse_unknown_(model.flag("fuse_unk", false)),
      byte_fallback_(model.flag("byte_fallback", false)),
      ignore_merges_(model.flag("ignore_merges", false)) {
  refuse_options(model);
  if (const std::optional<Field> unknown = model.find("unk_token")) unknown_ = unknown->text();
  read_vocabulary(model.at("vocab"));
  read_merges(model.at("merges"));
}

void Bpe::read_vocabulary(const Field& field) {
  vocabulary_.reserve(field.members().size());
  for (const auto& [token, json] : field.members()) {
    const std::optional<Index> id = id_in(json);
    vocabulary_.emplace(token, id ? *id : field.at(token).id());  // which then complains by name
  }
}

void Bpe::read_merges(const Field& field) {
  const io::Json::array_t& merges = field.elements();
  merges_.reserve(merges.size());
  std::int64_t rank = 0;
  std::string both;
  for (std::size_t i = 0; i < merges.size(); ++i) {
    if (is_version_line(merges[i])) continue;
    const std::optional<Pair> pair = pair_in(merges[i]);
    if (!pair) field.item(i).refuse("two tokens, as \"a b\" or [\"a\", \"b\"]");
    both.assign(pair->left).append(pair->right);
    const std::optional<Index> left = id_of(pair->left);
    const std::optional<Index> right = id_of(pair->right);
    const std::optional<Index> merged = id_of(both);
    if (!left || !right || !merged)
      field.item(i).refuse("two tokens that are in the vocabulary, as is their merge");
    merges_.insert_or_assign(pair_key(*left, *right), Merge{rank++, *merged});
  }
}

std::optional<Index> Bpe::id_of(std::string_view token) const {
  const auto found = vocabulary_.find(token);
  return found == vocabulary_.end() ? std::nullopt : std::optional<Index>(found->second);
}

const Bpe::Merge* Bpe::merge_of(Index left, Index right) const {
  const auto found = merges_.find(pair_key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

void Bpe::encode(std::string_view word, std::vector<Index>& ids) const {
  if (const std::optional<Index> whole = ignore_merges_ ? id_of(word) : std::nullopt) {
    ids.push_back(*whole);
    return;
  }
  const std::vector<Index> merged = merge(characters_of(word));
  ids.insert(ids.end(), merged.begin(), merged.end());
}

std::optional<std::vector<Index>> Bpe::bytes_of(std::string_view character) const {
  std::vector<Index> ids;
  for (const char byte : character) {
    const std::optional<Index> id = id_of(fmt::format("<0x{:02X}>", static_cast<unsigned char>(byte)));
    if (!id) return std::nullopt;
    ids.push_back(*id);
  }
  return ids;
}

Index Bpe::unknown_id() const {
  const std::optional<Index> id = id_of(*unknown_);
  if (!id)
    throw InputError(
        {.what = fmt::format("{}: unk_token \"{}\" is not in the vocabulary", where_, *unknown_)});
  return *id;
}

std::vector<Index> Bpe::characters_of(std::string_view word) const {
  std::vector<Index> ids;
  Index unknown = 0;  // how many unknown tokens wait: a run of them may become one
  const auto flush = [&] {
    for (; unknown > 0; --unknown) ids.push_back(unknown_id());
  };
  for (std::size_t at = 0; at < word.size();) {
    const std::string_view character = word.substr(at, character_at(word, at).bytes);
    at += character.size();
    if (const std::optional<Index> id = id_of(character)) {
      flush();
      ids.push_back(*id);
    } else if (const auto bytes = byte_fallback_ ? bytes_of(character) : std::nullopt) {
      ids.insert(ids.end(), bytes->begin(), bytes->end());  // before what waits, as the library does
    } else if (unknown_) {
      if (!fuse_unknown_) flush();
      unknown = 1;
    }
  }
  flush();
  return ids;
}

std::vector<Index> Bpe::merge(const std::vector<Index>& characters) const {
  const auto size = static_cast<Index>(characters.size());
  std::vector<Symbol> symbols;
  symbols.reserve(characters.size());
  for (const Index id : characters) {
    const auto position = static_cast<Index>(symbols.size());
    symbols.push_back(
        {.id = id, .previous = position - 1, .next = position + 1 < size ? position + 1 : -1, .alive = true});
  }
  const auto symbol = [&](Index position) -> Symbol& { return symbols[static_cast<std::size_t>(position)]; };

  std::priority_queue<Candidate> queue;
  const auto note = [&](Index position) {
    if (position < 0 || symbol(position).next < 0) return;
    const Merge* const merge = merge_of(symbol(position).id, symbol(symbol(position).next).id);
    if (merge != nullptr) queue.push({.rank = merge->rank, .position = position, .id = merge->id});
  };
  for (Index position = 0; position < size; ++position) note(position);

  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbol(best.position);
    if (!left.alive || left.next < 0) continue;
    Symbol& right = symbol(left.next);
    const Merge* const merge = merge_of(left.id, right.id);
    if (merge == nullptr || merge->id != best.id) continue;  // the pair changed since it was noted
    left.id = best.id;
    right.alive = false;
    left.next = right.next;
    if (left.next >= 0) symbol(left.next).previous = best.position;
    note(left.previous);
    note(best.position);
  }

  std::vector<Index> ids;
  for (const Symbol& each : symbols)
    if (each.alive) ids.push_back(each.id);
  return ids;
}

}  // namespace wafer::tokenizer
