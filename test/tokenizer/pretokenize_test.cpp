#include "tokenizer/pretokenize.hpp"

#include "documents.hpp"
#include "support/catch.hpp"

namespace wafer::tokenizer {
namespace {

const std::string sign = "\xE2\x96\x81";    // Metaspace's usual sign
const std::string byte_space = "\xC4\xA0";  // the byte alphabet's space

/// The words of a text, joined by bars.
std::string words(const std::string& json, const std::string& text) {
  const io::Json value = json_of(json);
  std::vector<Piece> pieces = {{.text = text, .at_start = true}};
  read_pre_tokenizer(Field(value, "a test"))(pieces);
  std::string all;
  for (const Piece& piece : pieces) all += (all.empty() ? "" : "|") + piece.text;
  return all;
}

std::string split(const std::string& behavior, const std::string& text, const std::string& invert = "false") {
  return words(R"({"type": "Split", "pattern": {"String": "-"}, "behavior": ")" + behavior +
                   R"(", "invert": )" + invert + "}",
               text);
}

TEST_CASE("no pre-tokenizer leaves one piece") {
  std::vector<Piece> pieces = {{.text = "a b"}};
  read_pre_tokenizer(std::nullopt)(pieces);
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].text == "a b");
}

TEST_CASE("Split treats its matches as its behavior says") {
  const std::string text = "the-final--countdown";
  CHECK(split("Removed", text) == "the|final|countdown");
  CHECK(split("Isolated", text) == "the|-|final|-|-|countdown");
  CHECK(split("MergedWithPrevious", text) == "the-|final-|-|countdown");
  CHECK(split("MergedWithNext", text) == "the|-final|-|-countdown");
  CHECK(split("Contiguous", text) == "the|-|final|--|countdown");
}

TEST_CASE("Split copes with matches at the ends, only matches, no match and nothing") {
  CHECK(split("Removed", "-a-") == "a");
  CHECK(split("MergedWithPrevious", "-a-") == "-|a-");
  CHECK(split("MergedWithNext", "-a-") == "-a|-");
  CHECK(split("Removed", "--").empty());
  CHECK(split("Contiguous", "--") == "--");
  CHECK(split("MergedWithNext", "--") == "-|-");
  CHECK(split("Isolated", "a") == "a");
  CHECK(split("Isolated", "").empty());
}

TEST_CASE("an inverted Split treats what lies between the matches as matches") {
  CHECK(split("Removed", "a-b", "true") == "-");
  CHECK(split("MergedWithNext", "a-b-", "true") == "a-|b-");
  CHECK(split("Contiguous", "--a", "true") == "--|a");
}

TEST_CASE("ByteLevel cuts GPT-2's words and writes bytes as characters") {
  const std::string plain = R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true})";
  CHECK(words(plain, "Hello my friend, it's 42  now") ==
        "Hello|" + byte_space + "my|" + byte_space + "friend|,|" + byte_space + "it|'s|" + byte_space +
            "42|" + byte_space + "|" + byte_space + "now");
  CHECK(words(plain, "a\n") == "a|\xC4\x8A");
  CHECK(words(plain, "\xC3\xA9") == "\xC3\x83\xC2\xA9");
}

TEST_CASE("ByteLevel puts a space before a piece that has none, and can leave the words whole") {
  const std::string prefixed = R"({"type": "ByteLevel", "add_prefix_space": true, "use_regex": false})";
  CHECK(words(prefixed, "a b") == byte_space + "a" + byte_space + "b");
  CHECK(words(prefixed, " a") == byte_space + "a");
}

TEST_CASE("Metaspace writes spaces as its sign and cuts before each") {
  const std::string always = R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"})";
  CHECK(words(always, "Hey  you") == sign + "Hey|" + sign + "|" + sign + "you");
  CHECK(words(always, " a") == sign + "a");
  const std::string whole =
      R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": false})";
  CHECK(words(whole, "a b") == "a" + sign + "b");
}

TEST_CASE("Metaspace reads the older add_prefix_space") {
  CHECK(words(R"({"type": "Metaspace", "replacement": "_", "add_prefix_space": true})", "a") == "_a");
  CHECK(words(R"({"type": "Metaspace", "replacement": "_", "add_prefix_space": false})", "a") == "a");
  CHECK(words(R"({"type": "Metaspace", "replacement": "_"})", "a") == "_a");
}

TEST_CASE("Metaspace's scheme first means the beginning of the whole text") {
  io::Json document = small_document();
  document["pre_tokenizer"] =
      json_of(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "first"})");
  document["added_tokens"] = json_of(R"([{"id": 15, "content": "<s>", "special": true}])");
  const Tokenizer first = make(document);
  CHECK(first.encode("a<s>b") == Ids{12, 0, 15, 1});
  CHECK(first.encode("<s>a") == Ids{15, 0});
  document["pre_tokenizer"]["prepend_scheme"] = "always";
  CHECK(make(document).encode("a<s>b") == Ids{12, 0, 15, 12, 1});
}

TEST_CASE("Digits cuts numbers of all kinds, one by one or together") {
  CHECK(words(R"({"type": "Digits", "individual_digits": true})", "a12b\xC2\xB2") == "a|1|2|b|\xC2\xB2");
  CHECK(words(R"({"type": "Digits", "individual_digits": false})", "a12b\xC2\xB2") == "a|12|b|\xC2\xB2");
  CHECK(words(R"({"type": "Digits", "individual_digits": true})", "ab") == "ab");
}

TEST_CASE("a Sequence cuts the pieces of the step before") {
  CHECK(words(R"({"type": "Sequence", "pretokenizers": [
                   {"type": "Digits", "individual_digits": false},
                   {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]})",
              "a 12") == "a" + byte_space + "|12");
  CHECK(words(R"({"type": "Sequence", "pretokenizers": []})", "a b") == "a b");
}

}  // namespace
}  // namespace wafer::tokenizer
