#include "tokenizer/normalize.hpp"

#include "documents.hpp"
#include "support/catch.hpp"

namespace wafer::tokenizer {
namespace {

Piece normalized(const std::string& json, const std::string& text) {
  const io::Json value = json_of(json);
  Piece piece{.text = text, .at_start = true};
  read_normalizer(Field(value, "a test"))(piece);
  return piece;
}

std::string text_of(const std::string& json, const std::string& text) { return normalized(json, text).text; }

TEST_CASE("no normalizer changes nothing") {
  Piece piece{.text = " A "};
  read_normalizer(std::nullopt)(piece);
  CHECK(piece.text == " A ");
}

TEST_CASE("Prepend leaves an empty text empty") {
  CHECK(text_of(R"({"type": "Prepend", "prepend": "_"})", "a") == "_a");
  CHECK(text_of(R"({"type": "Prepend", "prepend": "_"})", "").empty());
}

TEST_CASE("Replace takes a text as it stands or a pattern") {
  CHECK(text_of(R"({"type": "Replace", "pattern": {"String": "."}, "content": "--"})", "a.b.") == "a--b--");
  CHECK(text_of(R"({"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "})", "a \n\tb") == "a b");
  CHECK(text_of(R"({"type": "Replace", "pattern": {"Regex": "x?"}, "content": "-"})", "axb") == "-a-b-");
}

TEST_CASE("a Sequence runs in its order") {
  const std::string prepend = R"({"type": "Prepend", "prepend": "_"})";
  const std::string replace = R"({"type": "Replace", "pattern": {"String": "_"}, "content": "+"})";
  CHECK(text_of(R"({"type": "Sequence", "normalizers": [)" + prepend + "," + replace + "]}", "a_") == "+a+");
  CHECK(text_of(R"({"type": "Sequence", "normalizers": [)" + replace + "," + prepend + "]}", "a_") == "_a+");
  CHECK(text_of(R"({"type": "Sequence", "normalizers": []})", "a_") == "a_");
}

TEST_CASE("the Unicode forms compose, decompose and simplify, also around NUL") {
  const std::string composed = "\xC3\xA9";  // e with acute
  const std::string decomposed = "e\xCC\x81";
  const std::string ligature = "\xEF\xAC\x81";  // fi
  CHECK(text_of(R"({"type": "NFC"})", decomposed + ligature) == composed + ligature);
  CHECK(text_of(R"({"type": "NFD"})", composed + ligature) == decomposed + ligature);
  CHECK(text_of(R"({"type": "NFKC"})", decomposed + ligature) == composed + "fi");
  CHECK(text_of(R"({"type": "NFKD"})", composed + ligature) == decomposed + "fi");
  CHECK(text_of(R"({"type": "NFC"})", "").empty());
  const std::string with_nul("a\0e\xCC\x81", 5);
  CHECK(text_of(R"({"type": "NFC"})", with_nul) == std::string("a\0\xC3\xA9", 4));
}

TEST_CASE("Lowercase works character by character") {
  CHECK(text_of(R"({"type": "Lowercase"})", "A\xC3\x89z1") == "a\xC3\xA9z1");
  CHECK(text_of(R"({"type": "Lowercase"})", "\xC4\xB0") == "i\xCC\x87");
  CHECK(text_of(R"({"type": "Lowercase"})", "A\xCE\xA3") == "a\xCF\x83");  // no final sigma
}

TEST_CASE("Strip takes white space of all kinds from the sides asked for") {
  const std::string text = "\xE3\x80\x80 \xC3\xA9 \n";
  CHECK(text_of(R"({"type": "Strip", "strip_left": true, "strip_right": true})", text) == "\xC3\xA9");
  CHECK(text_of(R"({"type": "Strip", "strip_left": false, "strip_right": true})", text) ==
        "\xE3\x80\x80 \xC3\xA9");
  CHECK(text_of(R"({"type": "Strip", "strip_left": true, "strip_right": false})", text) == "\xC3\xA9 \n");
  CHECK(text_of(R"({"type": "Strip", "strip_left": true, "strip_right": true})", " \t").empty());
}

TEST_CASE("a piece that lost its beginning no longer stands at the start") {
  const std::string strip = R"({"type": "Strip", "strip_left": true, "strip_right": true})";
  const std::string drop = R"({"type": "Replace", "pattern": {"String": "x"}, "content": ""})";
  CHECK(normalized(strip, "a ").at_start);
  CHECK_FALSE(normalized(strip, " a").at_start);
  CHECK(normalized(drop, "ax").at_start);
  CHECK_FALSE(normalized(drop, "xa").at_start);
}

}  // namespace
}  // namespace wafer::tokenizer
