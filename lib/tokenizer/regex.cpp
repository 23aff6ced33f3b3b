#define PCRE2_CODE_UNIT_WIDTH 8  // what pcre2.h declares depends on it

#include "tokenizer/regex.hpp"

#include <array>
#include <optional>
#include <utility>

#include <pcre2.h>

#include "core/error.hpp"
#include "tokenizer/oniguruma.hpp"
#include "tokenizer/utf8.hpp"

namespace wafer::tokenizer {

namespace {

std::string message_of(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

PCRE2_SPTR units_of(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

/// One search after another through one text.
class Search {
public:
  Search(const pcre2_code* code, std::string_view text)
      : code_(code), text_(text), match_(pcre2_match_data_create(1, nullptr), pcre2_match_data_free) {
    WAFER_CHECK(match_ != nullptr, "no memory for a match");
  }

  /// The next match. An empty one right behind the match before it is passed over.
  std::optional<Span> next() {
    while (at_ <= text_.size()) {
      const std::optional<Span> found = from(at_);
      if (!found) return std::nullopt;
      if (found->begin != found->end || found->end != last_end_) {
        at_ = found->end;
        last_end_ = found->end;
        return found;
      }
      at_ += at_ < text_.size() ? character_at(text_, at_).bytes : 1;
    }
    return std::nullopt;
  }

private:
  std::optional<Span> from(std::size_t start) {
    const int count =
        pcre2_match(code_, units_of(text_), text_.size(), start, PCRE2_NO_UTF_CHECK, match_.get(), nullptr);
    if (count == PCRE2_ERROR_NOMATCH) return std::nullopt;
    if (count < 0)
      throw InputError({.what = "a pattern of the tokenizer gave up on the text", .got = message_of(count)});
    const PCRE2_SIZE* const bounds = pcre2_get_ovector_pointer(match_.get());
    return Span{bounds[0], bounds[1], true};
  }

  const pcre2_code* code_;
  std::string_view text_;
  std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match_;
  std::size_t at_ = 0;
  std::size_t last_end_ = std::string_view::npos;
};

}  // namespace

void Regex::Free::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

Regex::Regex(std::string_view text, Kind kind, const std::string& where) {
  const bool literal = kind == Kind::literal;
  const std::string pattern = literal ? std::string(text) : to_pcre2(text, where);
  const std::uint32_t options = PCRE2_UTF | (literal ? PCRE2_LITERAL : PCRE2_UCP | PCRE2_MULTILINE);
  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_.reset(pcre2_compile(units_of(pattern), pattern.size(), options, &error, &offset, context.get()));
  if (!code_)
    throw InputError({.what = where + " is not a pattern: " + message_of(error), .got = std::string(text)});
}

Regex::Regex(const Regex& other) : code_(pcre2_code_copy(other.code_.get())) {
  WAFER_CHECK(code_ != nullptr, "no memory for a pattern");
}

Regex& Regex::operator=(Regex other) noexcept {
  std::swap(code_, other.code_);
  return *this;
}

std::vector<Span> Regex::cover(std::string_view text) const {
  std::vector<Span> spans;
  std::size_t covered = 0;
  Search search(code_.get(), text);
  if (text.empty()) return spans;
  while (const std::optional<Span> match = search.next()) {
    if (covered != match->begin) spans.push_back({covered, match->begin, false});
    spans.push_back(*match);
    covered = match->end;
  }
  if (covered != text.size()) spans.push_back({covered, text.size(), false});
  return spans;
}

std::string Regex::replace(std::string_view text, std::string_view by) const {
  std::string replaced;
  for (const Span& span : cover(text))
    replaced += span.match ? by : text.substr(span.begin, span.end - span.begin);
  return replaced;
}

Regex read_pattern(const Field& field) {
  if (const std::optional<Field> literal = field.find("String"))
    return {literal->text(), Regex::Kind::literal, literal->label()};
  if (const std::optional<Field> pattern = field.find("Regex"))
    return {pattern->text(), Regex::Kind::pattern, pattern->label()};
  field.refuse(R"({"String": ...} or {"Regex": ...})");
}

}  // namespace wafer::tokenizer
