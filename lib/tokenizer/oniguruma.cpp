#include "tokenizer/oniguruma.hpp"

#include "core/error.hpp"

namespace wafer::tokenizer {

namespace {

constexpr std::string_view word_properties = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";

class Translation {
public:
  Translation(std::string_view pattern, const std::string& where) : pattern_(pattern), where_(where) {}

  std::string run() {
    while (at_ < pattern_.size()) {
      if (pattern_[at_] == '\\')
        escape();
      else if (in_class_)
        inside_class();
      else
        outside_class();
    }
    return out_;
  }

private:
  std::string_view rest() const { return pattern_.substr(at_); }

  void copy(std::size_t length) {
    out_ += rest().substr(0, length);
    at_ += length;
  }

  void replace(std::size_t length, std::string_view by) {
    out_ += by;
    at_ += length;
  }

  [[noreturn]] void refuse(std::size_t length) const {
    throw InputError(
        {.what = where_ + " uses \"" + std::string(rest().substr(0, length)) + "\", which we do not have",
         .got = std::string(pattern_)});
  }

  void escape() {
    constexpr std::string_view same_in_both = "nrtfaeAzdD";
    if (rest().size() < 2) refuse(1);
    const char letter = rest()[1];
    const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
    const bool is_digit = letter >= '0' && letter <= '9';
    if (letter == 's') return replace(2, "\\p{White_Space}");
    if (letter == 'S') return replace(2, "\\P{White_Space}");
    if (letter == 'w' || letter == 'W') return word(letter == 'W');
    if (letter == 'p' || letter == 'P' || letter == 'x') return braces();
    if (is_digit || (is_letter && same_in_both.find(letter) == std::string_view::npos)) refuse(2);
    copy(2);
  }

  void word(bool negated) {
    if (in_class_ && negated) refuse(2);
    std::string text(word_properties);
    if (!in_class_) text = (negated ? "[^" : "[") + text + "]";
    replace(2, text);
  }

  /// \p{...}, \P{...}, \x{...}: read alike by both.
  void braces() {
    const std::size_t end = rest().find('}');
    if (rest().size() < 3 || rest()[2] != '{' || end == std::string_view::npos) refuse(2);
    copy(end + 1);
  }

  void inside_class() {
    // Oniguruma nests and intersects classes; PCRE2 would take the signs for themselves.
    if (rest().front() == '[') refuse(1);
    if (rest().substr(0, 2) == "&&") refuse(2);
    if (rest().front() == ']') in_class_ = false;
    copy(1);
  }

  void outside_class() {
    const char sign = rest().front();
    if (sign == '(') return group();
    if (sign == '{') return interval();
    if (sign != '[') return copy(1);
    in_class_ = true;
    copy(rest().substr(0, 2) == "[^" ? 2 : 1);
    if (rest().substr(0, 1) == "]") copy(1);  // a first ] stands for itself
  }

  void group() {
    if (rest().substr(0, 2) == "(*") refuse(2);
    if (rest().substr(0, 2) != "(?") return copy(1);
    for (const std::string_view start : {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?i:", "(?-i:"})
      if (rest().substr(0, start.size()) == start) return copy(start.size());
    if (at_ == 0 && rest().substr(0, 4) == "(?i)") return copy(4);
    refuse(4);  // other options and named groups; Ruby's m is everybody's s
  }

  /// {n}, {n,} and {n,m}. A quantifier on top of one means repetition in Ruby and possession or laziness in
  /// Perl; {,m} is literal in Perl.
  void interval() {
    const std::size_t end = rest().find('}');
    const bool plain = end != std::string_view::npos && end > 1 && rest()[1] >= '0' && rest()[1] <= '9';
    if (!plain) refuse(2);
    const std::string_view after = rest().substr(end + 1, 1);
    if (after == "+" || after == "?") refuse(end + 2);
    copy(end + 1);
  }

  std::string_view pattern_;
  const std::string& where_;
  std::size_t at_ = 0;
  bool in_class_ = false;
  std::string out_;
};

}  // namespace

std::string to_pcre2(std::string_view pattern, const std::string& where) {
  return Translation(pattern, where).run();
}

}  // namespace wafer::tokenizer
