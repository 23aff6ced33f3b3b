#include "tokenizer/added_tokens.hpp"

#include "documents.hpp"
#include "support/catch.hpp"

namespace wafer::tokenizer {
namespace {

AddedToken token(const std::string& content, Index id) {
  return {.content = content,
          .id = id,
          .single_word = false,
          .lstrip = false,
          .rstrip = false,
          .normalized = false,
          .special = false};
}

/// The parts of a text: "a|<s>=7|b".
std::string parts(const std::vector<AddedToken>& tokens, const std::string& text) {
  const AddedTokenFinder finder(tokens, [](Piece&) {});
  std::vector<Piece> pieces;
  finder.split({.text = text, .at_start = true}, pieces);
  std::string all;
  for (const Piece& piece : pieces) {
    if (!all.empty()) all += "|";
    all += piece.id ? "=" + std::to_string(*piece.id) : piece.text;
  }
  return all;
}

TEST_CASE("added tokens are cut out wherever they stand") {
  const std::vector<AddedToken> tokens = {token("<s>", 7)};

  CHECK(parts(tokens, "").empty());
  CHECK(parts(tokens, "ab") == "ab");
  CHECK(parts(tokens, "<s>") == "=7");
  CHECK(parts(tokens, "a<s>b<s><s>") == "a|=7|b|=7|=7");
  CHECK(parts({}, "a<s>") == "a<s>");
}

TEST_CASE("the leftmost token is taken, and of those the longest") {
  const std::vector<AddedToken> tokens = {token("bc", 1), token("ab", 2), token("abcd", 3), token("ab", 4)};

  CHECK(parts(tokens, "abc") == "=2|c");
  CHECK(parts(tokens, "abcd") == "=3");
  CHECK(parts(tokens, "bcd") == "=1|d");
}

TEST_CASE("lstrip and rstrip take white space of all kinds along, each once") {
  AddedToken left = token("<l>", 1);
  left.lstrip = true;
  AddedToken right = token("<r>", 2);
  right.rstrip = true;

  CHECK(parts({left, right}, "a \xE3\x80\x80<l> b") == "a|=1| b");
  CHECK(parts({left, right}, "a <r>\t\n b") == "a |=2|b");
  CHECK(parts({left, right}, "<r> <l>") == "=2|=1");
  CHECK(parts({left, right}, " <l><r> ") == "=1|=2");
}

TEST_CASE("a single_word token touches no letter, digit or mark") {
  AddedToken word = token("ab", 1);
  word.single_word = true;

  CHECK(parts({word}, "ab") == "=1");
  CHECK(parts({word}, "ab, ab-") == "=1|, |=1|-");
  CHECK(parts({word}, "xab") == "xab");
  CHECK(parts({word}, "ab1") == "ab1");
  CHECK(parts({word},
              "\xC3\xA9"
              "ab ab") ==
        "\xC3\xA9"
        "ab |=1");
  CHECK(parts({word},
              "\xCC\xB0"
              "ab") ==
        "\xCC\xB0"
        "ab");                                                // behind a combining mark
  CHECK(parts({word, token("b", 2)}, "xab b") == "xab |=2");  // b inside the refused ab stays hidden
}

TEST_CASE("a normalized token is found in the normalized text, another in the original") {
  io::Json document = small_document();
  document["normalizer"] = json_of(R"({"type": "Lowercase"})");
  document["added_tokens"] = json_of(R"([{"id": 15, "content": "DE", "normalized": true},
                                         {"id": 16, "content": "AB", "normalized": false}])");
  const Tokenizer tokenizer = make(document);

  CHECK(tokenizer.encode("De") == Ids{15});
  CHECK(tokenizer.encode("cDEAB") == Ids{2, 15, 16});
  CHECK(tokenizer.encode("Ab") == Ids{5});  // lower-cased, then merged
}

TEST_CASE("the normalizer works on each stretch between added tokens") {
  io::Json document = small_document();
  document["normalizer"] = json_of(R"({"type": "Prepend", "prepend": "_"})");
  document["added_tokens"] = json_of(R"([{"id": 15, "content": "<s>", "special": true}])");
  const Tokenizer tokenizer = make(document);

  CHECK(tokenizer.encode("a<s>b") == Ids{12, 0, 15, 12, 1});
  CHECK(tokenizer.encode("<s>") == Ids{15});
  CHECK(tokenizer.encode("").empty());
}

TEST_CASE("an added token that is in the vocabulary keeps its id and cuts the word") {
  const Tokenizer tokenizer = with("added_tokens", R"([{"id": 2, "content": "c", "special": true}])");

  CHECK(tokenizer.encode("abc") == Ids{5, 2});
  CHECK(tokenizer.decode({5, 2}) == "ab");
  CHECK(tokenizer.decode({5, 2}, false) == "abc");
}

}  // namespace
}  // namespace wafer::tokenizer
