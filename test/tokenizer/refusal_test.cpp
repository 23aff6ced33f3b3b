#include "core/error.hpp"
#include "documents.hpp"
#include "support/catch.hpp"

namespace wafer::tokenizer {
namespace {

/// Loads the small tokenizer with `value` at a JSON pointer.
/// @return the message of the InputError, or nothing where it loads
std::string complaint(const std::string& pointer, const std::string& value) {
  io::Json document = small_document();
  document[io::Json::json_pointer(pointer)] = json_of(value);
  try {
    make(document);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

struct Case {
  std::string pointer;
  std::string value;
  std::vector<std::string> named;  ///< what the message must contain
};

void check(const Case& each) {
  CAPTURE(each.pointer, each.value);
  const std::string message = complaint(each.pointer, each.value);
  CHECK_FALSE(message.empty());
  for (const std::string& part : each.named) CHECK_THAT(message, test::contains(part));
}

TEST_CASE("the small tokenizer itself is accepted") { CHECK(complaint("/padding", "null").empty()); }

TEST_CASE("a component that we do not have is refused by name") {
  check({"/model/type", "\"Unigram\"", {"small.json: model.type", "Unigram", "BPE"}});
  check({"/normalizer", R"({"type": "BertNormalizer"})", {"normalizer.type", "BertNormalizer"}});
  check({"/normalizer",
         R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Nmt"}]})",
         {"normalizer.normalizers[1].type", "Nmt"}});
  check({"/pre_tokenizer", R"({"type": "Whitespace"})", {"pre_tokenizer.type", "Whitespace"}});
  check({"/pre_tokenizer",
         R"({"type": "Sequence", "pretokenizers": [{"type": "Punctuation"}]})",
         {"pre_tokenizer.pretokenizers[0].type", "Punctuation"}});
  check(
      {"/post_processor", R"({"type": "RobertaProcessing"})", {"post_processor.type", "RobertaProcessing"}});
  check({"/decoder", R"({"type": "WordPiece"})", {"decoder.type", "WordPiece"}});
  check({"/decoder",
         R"({"type": "Sequence", "decoders": [{"type": "CTC"}]})",
         {"decoder.decoders[0].type", "CTC"}});
}

TEST_CASE("an option that we do not have is refused by name") {
  check({"/model/dropout", "0.1", {"model.dropout", "0.1"}});
  check({"/model/continuing_subword_prefix", "\"##\"", {"model.continuing_subword_prefix", "##"}});
  check({"/model/end_of_word_suffix", "\"</w>\"", {"model.end_of_word_suffix", "</w>"}});
  check({"/truncation", R"({"max_length": 5})", {"truncation"}});
  check({"/padding", R"({"strategy": "BatchLongest"})", {"padding"}});
  check({"/version", "\"2.0\"", {"version", "2.0"}});
  check({"/pre_tokenizer",
         R"({"type": "Split", "pattern": {"String": "a"}, "behavior": "Kept"})",
         {"pre_tokenizer.behavior", "Kept", "Isolated"}});
  check({"/pre_tokenizer",
         R"({"type": "Split", "pattern": {"Regex": "[a&&b]"}, "behavior": "Isolated"})",
         {"pre_tokenizer.pattern.Regex", "&&"}});
  check({"/pre_tokenizer",
         R"({"type": "Split", "pattern": {}, "behavior": "Isolated"})",
         {"pre_tokenizer.pattern"}});
  check({"/pre_tokenizer",
         R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "last"})",
         {"prepend_scheme", "last"}});
  check({"/pre_tokenizer",
         R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "add_prefix_space": false})",
         {"prepend_scheme", "add_prefix_space"}});
  check({"/normalizer",
         R"json({"type": "Replace", "pattern": {"Regex": "(a)"}, "content": "$1"})json",
         {"normalizer.content", "$1"}});
}

TEST_CASE("options that say nothing are accepted") {
  CHECK(complaint("/model/dropout", "0.0").empty());
  CHECK(complaint("/model/dropout", "null").empty());
  CHECK(complaint("/model/end_of_word_suffix", "\"\"").empty());
  CHECK(complaint("/model/type", "null").empty());
}

TEST_CASE("a wrong type is an error that names the key") {
  check({"/model", "[]", {"model", "an object"}});
  check({"/model/vocab", "[]", {"model.vocab", "an object"}});
  check({"/model/vocab/a", "\"0\"", {"model.vocab.a", "whole number"}});
  check({"/model/merges", "{}", {"model.merges", "a list"}});
  check({"/model/merges/2", "5", {"model.merges[2]", "two tokens"}});
  check({"/model/unk_token", "5", {"model.unk_token", "a text"}});
  check({"/model/byte_fallback", "1", {"model.byte_fallback", "true or false"}});
  check({"/added_tokens", "{}", {"added_tokens", "a list"}});
  check({"/added_tokens", "[7]", {"added_tokens[0]", "an object"}});
  check({"/added_tokens", R"([{"id": 15, "content": "x", "lstrip": "no"}])", {"added_tokens[0].lstrip"}});
  check({"/added_tokens", R"([{"id": 15}])", {"added_tokens[0]", "content"}});
  check({"/decoder", "5", {"decoder", "an object"}});
  check({"/decoder", R"({"type": 5})", {"decoder.type", "a text"}});
  check({"/decoder",
         R"({"type": "Metaspace", "replacement": "ab"})",
         {"decoder.replacement", "one character"}});
  check({"/decoder", R"({"type": "Strip", "content": "x", "start": -1, "stop": 0})", {"decoder.start"}});
}

TEST_CASE("an id below zero, with a fraction, or absurdly large is refused") {
  for (const char* const id : {"-1", "1.5", "1e3", "16777216", "99999999999999999999"})
    check({"/model/vocab/a", id, {"model.vocab.a"}});
  check({"/added_tokens", R"([{"id": -1, "content": "x"}])", {"added_tokens[0].id"}});
}

TEST_CASE("merges must be of two tokens that exist and whose merge exists") {
  check({"/model/merges/0", "\"a b c\"", {"model.merges[0]", "a b c"}});
  check({"/model/merges/0", "\"ab\"", {"model.merges[0]"}});
  check({"/model/merges/0", "\"a x\"", {"model.merges[0]", "a x"}});
  check({"/model/merges/0", "\"b a\"", {"model.merges[0]", "b a"}});
  check({"/model/merges/0", R"(["a", "b", "c"])", {"model.merges[0]"}});
}

TEST_CASE("an added token must be where the library would put it, and once") {
  check({"/added_tokens", R"([{"id": 17, "content": "x"}])", {"added_tokens[0].id", "17", "15"}});
  check({"/added_tokens", R"([{"id": 5, "content": "a"}])", {"added_tokens[0].id", "5"}});
  check(
      {"/added_tokens", R"([{"id": 15, "content": "x"}, {"id": 15, "content": "x"}])", {"added_tokens[1]"}});
  CHECK(complaint("/added_tokens", R"([{"id": 15, "content": "x"}, {"id": 3, "content": "d"},
                                       {"id": 16, "content": "y"}, {"id": 40, "content": ""}])")
            .empty());
}

TEST_CASE("a template must name tokens that exist, and one text") {
  const std::string head = R"({"type": "TemplateProcessing", "single": [)";
  const std::string text = R"({"Sequence": {"id": "A"}})";
  const std::string token = R"({"SpecialToken": {"id": "B"}})";
  check({"/post_processor", head + token + R"(], "special_tokens": {}})", {"special_tokens", "\"B\""}});
  check({"/post_processor",
         head + token + R"(], "special_tokens": {"B": {"ids": [77]}}})",
         {"post_processor"}});
  check({"/post_processor", head + R"({"Sequence": {"id": "B"}}], "special_tokens": {}})", {"Sequence.id"}});
  const std::string one = head + text + "," + token + R"(], "special_tokens": {"B": {"ids": [1]}}})";
  check({"/post_processor",
         R"({"type": "Sequence", "processors": [)" + one + "," + one + "]}",
         {"post_processor.processors[1]", "one template"}});
}

TEST_CASE("missing parts and malformed documents are named") {
  CHECK_THROWS_AS(Tokenizer("", "small.json"), InputError);
  CHECK_THROWS_AS(Tokenizer("{\"model\":", "small.json"), InputError);
  CHECK_THROWS_WITH(Tokenizer("[]", "small.json"),
                    test::contains("small.json") && test::contains("an object"));
  CHECK_THROWS_WITH(Tokenizer("{}", "small.json"), test::contains("model"));
  CHECK_THROWS_WITH(Tokenizer(R"({"model": {"vocab": {}}})", "small.json"), test::contains("merges"));
  CHECK_THROWS_WITH(Tokenizer(R"({"model": {"merges": []}})", "small.json"), test::contains("vocab"));
}

TEST_CASE("every way to cut the document short is an InputError") {
  const std::string text = io::to_text(small_document());
  for (std::size_t length = 0; length < text.size(); ++length)
    CHECK_THROWS_AS(Tokenizer(text.substr(0, length), "small.json"), InputError);
}

}  // namespace
}  // namespace wafer::tokenizer
