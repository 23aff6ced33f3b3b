#include "tokenizer/pretokenize.hpp"

#include <utility>

#include "tokenizer/byte_alphabet.hpp"
#include "tokenizer/regex.hpp"
#include "tokenizer/utf8.hpp"

namespace wafer::tokenizer {

namespace {

/// What becomes of the matches of a cut.
enum class Behavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

Behavior read_behavior(const Field& field) {
  const std::string name = field.text();
  if (name == "Removed") return Behavior::removed;
  if (name == "Isolated") return Behavior::isolated;
  if (name == "MergedWithPrevious") return Behavior::merged_with_previous;
  if (name == "MergedWithNext") return Behavior::merged_with_next;
  if (name == "Contiguous") return Behavior::contiguous;
  field.refuse("Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

/// Whether two neighbours stay together.
bool joins(Behavior behavior, const Span& left, const Span& right) {
  if (behavior == Behavior::merged_with_previous) return !left.match && right.match;
  if (behavior == Behavior::merged_with_next) return left.match && !right.match;
  return behavior == Behavior::contiguous && left.match == right.match;
}

/// Cuts along `spans`, which cover the piece; empty pieces vanish.
void cut(const Piece& piece, const std::vector<Span>& spans, Behavior behavior, std::vector<Piece>& out) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Span& span = spans[i];
    if (i == 0 || !joins(behavior, spans[i - 1], span)) begin = span.begin;
    const bool goes_on = i + 1 < spans.size() && joins(behavior, span, spans[i + 1]);
    const bool dropped = behavior == Behavior::removed && span.match;
    if (goes_on || dropped || begin == span.end) continue;
    out.push_back(
        {.text = piece.text.substr(begin, span.end - begin), .at_start = piece.at_start && begin == 0});
  }
}

/// Lifts a function that takes one piece apart to all pieces that are not added tokens.
template <typename CutOne>
PreTokenizer for_each_piece(CutOne cut_one) {
  return [cut_one](std::vector<Piece>& pieces) {
    std::vector<Piece> out;
    for (Piece& piece : pieces) {
      if (piece.id)
        out.push_back(std::move(piece));
      else if (!piece.text.empty())
        cut_one(std::move(piece), out);
    }
    pieces = std::move(out);
  };
}

/// Each digit a match, what lies between digits one span.
std::vector<Span> cover_digits(std::string_view text) {
  std::vector<Span> spans;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    const std::size_t end = at + character.bytes;
    const bool digit = is_numeric(character.code);
    if (!digit && !spans.empty() && !spans.back().match)
      spans.back().end = end;
    else
      spans.push_back({at, end, digit});
    at = end;
  }
  return spans;
}

PreTokenizer make_sequence(const Field& field) {
  std::vector<PreTokenizer> steps;
  for (const Field& item : field.at("pretokenizers").items()) steps.push_back(read_pre_tokenizer(item));
  return [steps](std::vector<Piece>& pieces) {
    for (const PreTokenizer& step : steps) step(pieces);
  };
}

PreTokenizer make_split(const Field& field) {
  const Regex regex = read_pattern(field.at("pattern"));
  const Behavior behavior = read_behavior(field.at("behavior"));
  const bool invert = field.flag("invert", false);
  return for_each_piece([regex, behavior, invert](const Piece& piece, std::vector<Piece>& out) {
    std::vector<Span> spans = regex.cover(piece.text);
    for (Span& span : spans) span.match = span.match != invert;
    cut(piece, spans, behavior, out);
  });
}

PreTokenizer make_byte_level(const Field& field) {
  // GPT-2's own pattern: a word, number or run of signs with the space before it, or white space.
  constexpr std::string_view words =
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  const Regex regex(words, Regex::Kind::pattern, "the words of ByteLevel");
  const bool prefix = field.flag("add_prefix_space", true);
  const bool use_regex = field.flag("use_regex", true);
  return for_each_piece([regex, prefix, use_regex](Piece piece, std::vector<Piece>& out) {
    const std::size_t before = out.size();
    if (prefix && piece.text.front() != ' ') piece.text.insert(0, " ");
    if (use_regex)
      cut(piece, regex.cover(piece.text), Behavior::isolated, out);
    else
      out.push_back(std::move(piece));
    for (std::size_t i = before; i < out.size(); ++i) out[i].text = to_byte_alphabet(out[i].text);
  });
}

PreTokenizer make_metaspace(const Field& field) {
  const std::string sign = field.at("replacement").character();
  const PrependScheme scheme = read_prepend_scheme(field);
  const bool split = field.flag("split", true);
  const Regex space(" ", Regex::Kind::literal, "space");
  const Regex signs(sign, Regex::Kind::literal, field.label());
  return for_each_piece([=](Piece piece, std::vector<Piece>& out) {
    piece.text = space.replace(piece.text, sign);
    const bool wanted = scheme == PrependScheme::always || (scheme == PrependScheme::first && piece.at_start);
    if (wanted && piece.text.compare(0, sign.size(), sign) != 0) piece.text.insert(0, sign);
    if (split)
      cut(piece, signs.cover(piece.text), Behavior::merged_with_next, out);
    else
      out.push_back(std::move(piece));
  });
}

PreTokenizer make_digits(const Field& field) {
  const Behavior behavior =
      field.flag("individual_digits", false) ? Behavior::isolated : Behavior::contiguous;
  return for_each_piece([behavior](const Piece& piece, std::vector<Piece>& out) {
    cut(piece, cover_digits(piece.text), behavior, out);
  });
}

}  // namespace

PrependScheme read_prepend_scheme(const Field& metaspace) {
  const bool prefix = metaspace.flag("add_prefix_space", true);
  const std::optional<Field> field = metaspace.find("prepend_scheme");
  if (!field) return prefix ? PrependScheme::always : PrependScheme::never;
  const std::string name = field->text();
  if (name == "never") return PrependScheme::never;
  if (!prefix) field->refuse("never, since add_prefix_space is false");
  if (name == "always") return PrependScheme::always;
  if (name == "first") return PrependScheme::first;
  field->refuse("always, first or never");
}

PreTokenizer read_pre_tokenizer(const std::optional<Field>& field) {
  if (!field) return [](std::vector<Piece>&) {};
  const std::string type = field->at("type").text();
  if (type == "Sequence") return make_sequence(*field);
  if (type == "Split") return make_split(*field);
  if (type == "ByteLevel") return make_byte_level(*field);
  if (type == "Metaspace") return make_metaspace(*field);
  if (type == "Digits") return make_digits(*field);
  field->at("type").refuse("Sequence, Split, ByteLevel, Metaspace or Digits");
}

}  // namespace wafer::tokenizer
