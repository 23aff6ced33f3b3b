#include "tokenizer/tokenizer.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "documents.hpp"
#include "support/catch.hpp"

namespace wafer::tokenizer {
namespace {

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string streamed(const Tokenizer& tokenizer, const Ids& ids) {
  DecodeStream stream(tokenizer);
  std::string text;
  for (const Index id : ids) text += stream.push(id);
  return text + stream.finish();
}

/// Every case of tokenizer_golden.json: the ids are those of the library, and the text comes back.
void check_golden(const std::filesystem::path& folder) {
  const Tokenizer tokenizer(contents_of(folder / "tokenizer.json"), "tokenizer.json");
  const io::Json cases = json_of(contents_of(folder / "tokenizer_golden.json"));
  REQUIRE(cases.size() >= 6);
  for (const io::Json& each : cases) {
    const auto text = each.at("text").get<std::string>();
    const auto ids = each.at("ids").get<Ids>();
    CAPTURE(text);
    CHECK(tokenizer.encode(text) == ids);
    CHECK(tokenizer.encode(text, false) == Ids(ids.begin() + 1, ids.end()));
    CHECK(tokenizer.decode(ids) == text);
    CHECK(streamed(tokenizer, ids) == text);
  }
}

TEST_CASE("folio's texts become the ids of the reference tokenizer and come back") {
  check_golden(std::filesystem::path(WAFER_DATA_DIR) / "folio");
}

TEST_CASE("stories260K's texts become the ids of the reference tokenizer and come back") {
  const std::filesystem::path folder =
      std::filesystem::path(WAFER_DATA_DIR) / ".." / ".." / "shared" / "models" / "stories260K";
  if (!std::filesystem::exists(folder / "tokenizer_golden.json")) {
    WARN("stories260K is not here");
    return;
  }
  check_golden(folder);
}

TEST_CASE("special tokens in a text are found, and skipped in decoding unless wanted") {
  const Tokenizer tokenizer(contents_of(std::filesystem::path(WAFER_DATA_DIR) / "folio" / "tokenizer.json"),
                            "tokenizer.json");

  const Ids ids = tokenizer.encode("a<|end_of_text|>");

  REQUIRE(ids.size() == 3);
  CHECK(ids.front() == 0);
  CHECK(ids.back() == 1);
  CHECK(tokenizer.decode(ids) == "a");
  CHECK(tokenizer.decode(ids, false) == "<|begin_of_text|>a<|end_of_text|>");
}

TEST_CASE("size is one more than the largest id, with and without added tokens") {
  io::Json document = small_document();
  CHECK(make(document).size() == 15);
  document["added_tokens"] = json_of(R"([{"id": 15, "content": "<s>", "special": true}])");
  CHECK(make(document).size() == 16);
  document = small_document();
  document["model"]["vocab"]["e"] = 99;
  CHECK(make(document).size() == 100);
}

TEST_CASE("an empty vocabulary makes an empty tokenizer") {
  io::Json document = small_document();
  document["model"]["vocab"] = json_of("{}");
  document["model"]["merges"] = json_of("[]");
  const Tokenizer tokenizer = make(document);

  CHECK(tokenizer.size() == 0);
  CHECK(tokenizer.encode("abc").empty());
  CHECK(tokenizer.decode({}).empty());
}

TEST_CASE("ids that name no token vanish in decoding") {
  const Tokenizer tokenizer = make(small_document());

  CHECK(tokenizer.decode({0, 15, 1, -1, 1000000}) == "ab");
}

TEST_CASE("a moved tokenizer goes on working") {
  Tokenizer first = make(small_document());
  Tokenizer second = std::move(first);
  first = make(small_document());

  CHECK(second.encode("abc") == Ids{6});
  CHECK(first.encode("ab") == Ids{5});
}

TEST_CASE("a template surrounds the text, and only the text stays without special tokens") {
  io::Json document = small_document();
  document["added_tokens"] = json_of(R"([{"id": 15, "content": "<s>", "special": true},
                                         {"id": 16, "content": "</s>", "special": true}])");
  const io::Json surrounding = json_of(R"({"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "B", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "E", "type_id": 0}}],
    "pair": [], "special_tokens": {"B": {"id": "B", "ids": [15, 0], "tokens": ["<s>", "a"]},
                                   "E": {"id": "E", "ids": [16], "tokens": ["</s>"]}}})");

  SECTION("by itself") {
    document["post_processor"] = surrounding;
    const Tokenizer tokenizer = make(document);
    CHECK(tokenizer.encode("de") == Ids{15, 0, 7, 16});
    CHECK(tokenizer.encode("") == Ids{15, 0, 16});
    CHECK(tokenizer.encode("de", false) == Ids{7});
  }
  SECTION("in a Sequence behind ByteLevel") {
    document["post_processor"] =
        json_of(R"({"type": "Sequence", "processors": [{"type": "ByteLevel", "trim_offsets": true}]})");
    CHECK(make(document).encode("de") == Ids{7});
    document["post_processor"]["processors"].push_back(surrounding);
    CHECK(make(document).encode("de") == Ids{15, 0, 7, 16});
  }
}

TEST_CASE("invalid bytes in a text are encoded as U+FFFD") {
  io::Json document = small_document();
  document["model"]["vocab"]["\xEF\xBF\xBD"] = 15;
  const Tokenizer tokenizer = make(document);

  CHECK(tokenizer.encode("a\xFF\xE2\x82"
                         "b") == Ids{0, 15, 15, 1});
}

}  // namespace
}  // namespace wafer::tokenizer
