#include "tokenizer/utf8.hpp"

#include "support/catch.hpp"
#include "tokenizer/byte_alphabet.hpp"

namespace wafer::tokenizer {
namespace {

const std::string bad = "\xEF\xBF\xBD";

TEST_CASE("valid text passes unchanged") {
  for (const char* const text : {"", "a", "\xC2\x80", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xF0\x90\x80\x80",
                                 "\xF4\x8F\xBF\xBF", "na\xC3\xAFve \xF0\x9F\x99\x82"}) {
    CHECK(is_valid_utf8(text));
    CHECK(to_valid_utf8(text) == text);
  }
}

TEST_CASE("each invalid part becomes one U+FFFD") {
  CHECK(to_valid_utf8("a\xFF"
                      "b") == "a" + bad + "b");
  CHECK(to_valid_utf8("\x80\x80") == bad + bad);
  CHECK(to_valid_utf8("\xC0\xAF") == bad + bad);                      // overlong
  CHECK(to_valid_utf8("\xE0\x80\x80") == bad + bad + bad);            // overlong
  CHECK(to_valid_utf8("\xED\xA0\x80") == bad + bad + bad);            // a surrogate
  CHECK(to_valid_utf8("\xF4\x90\x80\x80") == bad + bad + bad + bad);  // above U+10FFFF
  CHECK(to_valid_utf8("\xE2\x82") == bad);                            // one part, cut off at the end
  CHECK(to_valid_utf8("\xF0\x9F\x99"
                      "x") == bad + "x");
  CHECK(to_valid_utf8("\xE2\x82\xE2\x82\xAC") == bad + "\xE2\x82\xAC");
}

TEST_CASE("only what may still become a character is an incomplete tail") {
  CHECK(incomplete_tail("") == 0);
  CHECK(incomplete_tail("a") == 0);
  CHECK(incomplete_tail("a\xE2") == 1);
  CHECK(incomplete_tail("a\xE2\x82") == 2);
  CHECK(incomplete_tail("\xF0\x9F\x99") == 3);
  CHECK(incomplete_tail("\xE2\x82\xAC") == 0);
  CHECK(incomplete_tail("\xFF") == 0);
  CHECK(incomplete_tail("\xE0\x80") == 0);
  CHECK(incomplete_tail("\xE2\x82\xE2") == 1);
}

TEST_CASE("characters are read and written in one to four bytes") {
  for (const char32_t code : {0x0U, 0x7FU, 0x80U, 0x7FFU, 0x800U, 0xFFFDU, 0x10000U, 0x10FFFFU}) {
    std::string text = "x";
    append_utf8(text, code);
    CHECK(character_at(text, 1).code == code);
    CHECK(character_at(text, 1).bytes == text.size() - 1);
    CHECK(last_character(text).code == code);
  }
}

TEST_CASE("white space, words and numbers are Unicode's") {
  for (const char32_t code : {0x20U, 0x9U, 0xDU, 0x85U, 0xA0U, 0x2003U, 0x3000U}) CHECK(is_whitespace(code));
  for (const char32_t code : {0x61U, 0x200BU, 0x180EU, 0xFEFFU}) CHECK_FALSE(is_whitespace(code));
  for (const char32_t code : {0x61U, 0x5FU, 0x39U, 0xE9U, 0x330U, 0x65E5U, 0x24B6U}) CHECK(is_word(code));
  for (const char32_t code : {0x20U, 0x2DU, 0x2CU, 0xB2U, 0x1F642U}) CHECK_FALSE(is_word(code));
  for (const char32_t code : {0x30U, 0xB2U, 0xBDU, 0x2167U, 0x665U}) CHECK(is_numeric(code));
  for (const char32_t code : {0x61U, 0x4E00U, 0x2EU}) CHECK_FALSE(is_numeric(code));
}

TEST_CASE("the byte alphabet is GPT-2's and can be undone") {
  CHECK(to_byte_alphabet("a b\n") ==
        "a\xC4\xA0"
        "b\xC4\x8A");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(from_byte_alphabet(to_byte_alphabet(all)) == all);
  CHECK(from_byte_alphabet("") == "");
  CHECK_FALSE(from_byte_alphabet("a b").has_value());
  CHECK_FALSE(from_byte_alphabet("\xE2\x82\xAC").has_value());
}

}  // namespace
}  // namespace wafer::tokenizer
