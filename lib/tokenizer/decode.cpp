#include "tokenizer/decode.hpp"

#include <charconv>
#include <utility>

#include "tokenizer/byte_alphabet.hpp"
#include "tokenizer/pretokenize.hpp"
#include "tokenizer/utf8.hpp"

namespace wafer::tokenizer {

namespace {

/// The byte that "<0x41>" names.
std::optional<char> named_byte(const std::string& token) {
  if (token.size() != 6 || token.compare(0, 3, "<0x") != 0 || token.back() != '>') return std::nullopt;
  unsigned value = 0;
  const char* const end = token.data() + 5;
  const auto [stop, error] = std::from_chars(token.data() + 3, end, value, 16);
  if (error != std::errc() || stop != end) return std::nullopt;
  return static_cast<char>(value);
}

std::size_t read_count(const Field& field) { return static_cast<std::size_t>(field.id()); }

bool is_one_character(const std::optional<Field>& literal) {
  if (!literal) return false;
  const std::string text = literal->text();
  return !text.empty() && character_at(text, 0).bytes == text.size();
}

std::string concatenated(const Texts& texts) {
  std::string all;
  for (const std::string& text : texts) all += text;
  return all;
}

}  // namespace

void SpaceBetween::push(const std::string& text, Texts& out) {
  out.push_back(first ? text : " " + text);
  first = false;
}

void FromByteAlphabet::push(const std::string& text, Texts& out) {
  waiting += from_byte_alphabet(text).value_or(text);
  const std::size_t certain = waiting.size() - incomplete_tail(waiting);
  out.push_back(to_valid_utf8(waiting.substr(0, certain)));
  waiting.erase(0, certain);
}

void FromByteAlphabet::finish(Texts& out) { out.push_back(to_valid_utf8(std::exchange(waiting, {}))); }

void ByteFallback::push(const std::string& text, Texts& out) {
  if (const std::optional<char> byte = named_byte(text)) {
    waiting += *byte;
    return;
  }
  finish(out);
  out.push_back(text);
}

void ByteFallback::finish(Texts& out) {
  if (waiting.empty()) return;
  if (is_valid_utf8(waiting))
    out.push_back(waiting);
  else
    out.insert(out.end(), waiting.size(), "\xEF\xBF\xBD");
  waiting.clear();
}

void FromMetaspace::push(const std::string& text, Texts& out) {
  const std::string_view by = first && drop_first ? "" : " ";
  std::string replaced;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = character_at(text, at).bytes;
    const std::string_view character = std::string_view(text).substr(at, bytes);
    replaced += character == sign ? by : character;
    at += bytes;
  }
  out.push_back(std::move(replaced));
  first = joined;
}

void ReplaceText::push(const std::string& text, Texts& out) const {
  out.push_back(regex.replace(text, content));
}

void StripText::push(const std::string& text, Texts& out) {
  const std::size_t length = content.size();
  std::string_view rest = text;
  if (!joined) left = start;
  while (left > 0 && !rest.empty()) {
    if (rest.substr(0, length) != content) {
      left = 0;
    } else {
      rest.remove_prefix(length);
      --left;
    }
  }
  for (std::size_t i = 0; i < stop && rest.size() >= length && rest.substr(rest.size() - length) == content;
       ++i)
    rest.remove_suffix(length);
  out.emplace_back(rest);
}

void Gather::push(const std::string& text, Texts&) { waiting += text; }

void Gather::finish(Texts& out) { out.push_back(std::exchange(waiting, {})); }

Decoder::Decoder(const std::optional<Field>& field) {
  if (field)
    add(*field);
  else
    steps_.emplace_back(SpaceBetween{});
}

void Decoder::add(const Field& field) {
  const std::string type = field.at("type").text();
  if (type == "Sequence") {
    for (const Field& item : field.at("decoders").items()) add(item);
  } else if (type == "Fuse") {
    joined_ = true;
  } else if (type == "ByteLevel") {
    if (joined_) steps_.emplace_back(Gather{});
    steps_.emplace_back(FromByteAlphabet{});
    joined_ = true;
  } else if (type == "ByteFallback") {
    if (joined_) steps_.emplace_back(Gather{});
    steps_.emplace_back(ByteFallback{});
  } else if (type == "Metaspace") {
    const bool drop_first = read_prepend_scheme(field) != PrependScheme::never;
    steps_.emplace_back(FromMetaspace{field.at("replacement").character(), drop_first, joined_});
  } else if (type == "Replace") {
    const Field pattern = field.at("pattern");
    if (joined_ && !is_one_character(pattern.find("String"))) steps_.emplace_back(Gather{});
    steps_.emplace_back(ReplaceText{read_pattern(pattern), field.at("content").text()});
  } else if (type == "Strip") {
    const std::size_t stop = read_count(field.at("stop"));
    if (joined_ && stop > 0) steps_.emplace_back(Gather{});
    steps_.emplace_back(
        StripText{field.at("content").character(), read_count(field.at("start")), stop, joined_});
  } else {
    field.at("type").refuse("ByteLevel, Metaspace, Replace, ByteFallback, Fuse, Strip or Sequence");
  }
}

std::string Decoder::push(const std::string& token) {
  Texts texts = {token};
  for (DecodeStep& step : steps_) {
    Texts out;
    for (const std::string& text : texts) std::visit([&](auto& each) { each.push(text, out); }, step);
    texts = std::move(out);
  }
  return concatenated(texts);
}

std::string Decoder::finish() {
  Texts texts;
  for (DecodeStep& step : steps_) {
    Texts out;
    for (const std::string& text : texts) std::visit([&](auto& each) { each.push(text, out); }, step);
    std::visit([&](auto& each) { each.finish(out); }, step);
    texts = std::move(out);
  }
  return concatenated(texts);
}

}  // namespace wafer::tokenizer
