#include "tokenizer/regex.hpp"

#include "core/error.hpp"
#include "support/catch.hpp"
#include "tokenizer/oniguruma.hpp"

namespace wafer::tokenizer {
namespace {

/// The matches of a pattern in a text, each in brackets.
std::string marked(const std::string& pattern, const std::string& text) {
  std::string all;
  for (const Span& span : Regex(pattern, Regex::Kind::pattern, "p").cover(text)) {
    const std::string part = text.substr(span.begin, span.end - span.begin);
    all += span.match ? "[" + part + "]" : part;
  }
  return all;
}

TEST_CASE("spans cover the whole text") {
  CHECK(marked("b", "") == "");
  CHECK(marked("b", "abcb") == "a[b]c[b]");
  CHECK(marked("b", "ac") == "ac");
  CHECK(marked("a|b", "ab") == "[a][b]");
}

TEST_CASE("an empty match counts except right behind a match") {
  CHECK(marked("x*", "axxb") == "[]a[xx]b[]");
  CHECK(marked("x*", "\xC3\xA9") == "[]\xC3\xA9[]");
}

TEST_CASE("classes are Unicode's") {
  CHECK(marked("\\p{L}+", "na\xC3\xAFve 1") == "[na\xC3\xAFve] 1");
  CHECK(marked("\\d", "1\xD9\xA5") == "[1][\xD9\xA5]");
  CHECK(marked("\\s", "\xE3\x80\x80x\xE1\xA0\x8E") == "[\xE3\x80\x80]x\xE1\xA0\x8E");  // not U+180E
  CHECK(marked("[^\\s]+", "a b") == "[a] [b]");
  CHECK(marked("\\S+", "a b") == "[a] [b]");
  CHECK(marked("\\w+", "e\xCC\x81_1-") == "[e\xCC\x81_1]-");
  CHECK(marked("[\\w-]+", "e\xCC\x81- ") == "[e\xCC\x81-] ");
  CHECK(marked("\\W+", "a-\xCC\x81") == "a[-]\xCC\x81");
  CHECK(marked("(?i:'s)", "'S's") == "['S]['s]");
}

TEST_CASE("lines begin and end at every line break, as in Ruby") {
  CHECK(marked("^a", "a\na") == "[a]\n[a]");
  CHECK(marked("a$", "a\na") == "[a]\n[a]");
}

TEST_CASE("a pattern may look around and keep what it took") {
  CHECK(marked("\\s+(?!\\S)", "a  b") == "a[ ] b");
  CHECK(marked("a++", "aab") == "[aa]b");
  CHECK(marked("\\p{N}{1,3}", "1234") == "[123][4]");
  CHECK(marked("\\p{L}+|[\\[\\]]", "a]") == "[a][]]");
}

TEST_CASE("the patterns of the common model families are understood") {
  const std::string text = "I'LL pay 1234 caf\xC3\xA9s!\n\n  x";
  const std::string tail = "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
  const std::string contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
  CHECK(marked(contractions + "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}" + tail, text) ==
        "[I]['LL][ pay][ ][123][4][ caf\xC3\xA9s][!\n\n][ ][ x]");  // Llama 3
  CHECK(marked(contractions + "|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}" + tail, text) ==
        "[I]['LL][ pay][ ][1][2][3][4][ caf\xC3\xA9s][!\n\n][ ][ x]");  // Qwen
  CHECK(marked("[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|"
               "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|"
               "\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
               "HelloWORLD a/b") == "[Hello][WORLD][ a][/b]");  // Mistral Nemo
}

TEST_CASE("a literal stands for itself") {
  const Regex dot(".", Regex::Kind::literal, "p");
  CHECK(dot.replace("a.b", "-") == "a-b");
  const Regex copy = dot;
  CHECK(copy.replace("..", "") == "");
}

TEST_CASE("what Ruby and Perl read differently is refused by name") {
  const std::string pattern =
      GENERATE(as<std::string>(), "\\h", "\\bx", "\\R", "\\1", "[a&&b]", "[a[b]]", "[[:alpha:]]", "[\\W]",
               "a{2}+", "a{1,2}?", "a{,2}", "(?m:.)", "(?<n>a)", "(*ACCEPT)", "a(?i)b", "\\x41", "\\");
  CAPTURE(pattern);
  CHECK_THROWS_AS(to_pcre2(pattern, "p"), InputError);
}

TEST_CASE("a pattern that does not compile is an InputError that shows it") {
  CHECK_THROWS_AS(Regex("(a", Regex::Kind::pattern, "p"), InputError);
  CHECK_THROWS_WITH(Regex("(a", Regex::Kind::pattern, "p"), test::contains("got (a"));
  CHECK_THROWS_AS(Regex("\\p{Nonsense}", Regex::Kind::pattern, "p"), InputError);
}

}  // namespace
}  // namespace wafer::tokenizer
