#include "tokenizer/bpe.hpp"

#include "core/error.hpp"
#include "documents.hpp"
#include "support/catch.hpp"

namespace wafer::tokenizer {
namespace {

TEST_CASE("the earlier merge wins, wherever it stands") {
  const Tokenizer tokenizer = make(small_document());

  CHECK(tokenizer.encode("").empty());
  CHECK(tokenizer.encode("a") == Ids{0});
  CHECK(tokenizer.encode("abc") == Ids{6});
  CHECK(tokenizer.encode("cde") == Ids{2, 7});  // d e before c d
  CHECK(tokenizer.encode("abcde") == Ids{6, 7});
  CHECK(tokenizer.encode("bcdab") == Ids{1, 8, 5});
  CHECK(tokenizer.encode("ababcab") == Ids{5, 6, 5});
}

TEST_CASE("of equal merges the leftmost goes first") {
  io::Json document = small_document();
  document["model"]["vocab"]["aa"] = 15;
  document["model"]["merges"] = json_of(R"(["a a"])");

  CHECK(make(document).encode("aaa") == Ids{15, 0});
  CHECK(make(document).encode("aaaaa") == Ids{15, 15, 0});
}

TEST_CASE("a pair given twice has its later place") {
  CHECK(with_model("merges", R"(["c d", "d e", "c d"])").encode("cde") == Ids{2, 7});
  CHECK(with_model("merges", R"(["c d", "d e"])").encode("cde") == Ids{8, 4});
}

TEST_CASE("merges may be pairs, and a version line is passed over") {
  CHECK(with_model("merges", R"([["a", "b"], ["ab", "c"]])").encode("abcde") == Ids{6, 3, 4});
  CHECK(with_model("merges", R"(["#version: 0.2", "a b"])").encode("abc") == Ids{5, 2});
}

TEST_CASE("with ignore_merges a word in the vocabulary is taken whole") {
  io::Json document = small_document();
  document["model"]["merges"] = json_of("[]");
  CHECK(make(document).encode("abc") == Ids{0, 1, 2});
  document["model"]["ignore_merges"] = true;
  CHECK(make(document).encode("abc") == Ids{6});
  CHECK(make(document).encode("abcd") == Ids{0, 1, 2, 3});
}

TEST_CASE("a character outside the vocabulary becomes bytes, the unknown token, or nothing") {
  io::Json document = small_document();
  const std::string euro =
      "a\xE2\x82\xAC"
      "b";
  CHECK(make(document).encode(euro) == Ids{5});  // dropped before merging
  document["model"]["unk_token"] = "?";
  CHECK(make(document).encode(euro) == Ids{0, 14, 1});
  document["model"]["byte_fallback"] = true;
  CHECK(make(document).encode(euro) == Ids{0, 9, 10, 11, 1});
  CHECK(make(document).encode("a\xC3\xA9") == Ids{0, 14});  // no token for its bytes
}

TEST_CASE("unknown characters in a row are one token only with fuse_unk") {
  io::Json document = small_document();
  document["model"]["unk_token"] = "?";
  CHECK(make(document).encode("xyazx") == Ids{14, 14, 0, 14, 14});
  document["model"]["fuse_unk"] = true;
  CHECK(make(document).encode("xyazx") == Ids{14, 0, 14});
}

TEST_CASE("an unknown token that is not in the vocabulary is an error once it is needed") {
  const Tokenizer tokenizer = with_model("unk_token", "\"<unk>\"");

  CHECK(tokenizer.encode("a") == Ids{0});
  CHECK_THROWS_AS(tokenizer.encode("x"), InputError);
}

TEST_CASE("a long word takes time that hardly more than grows with it") {
  const Tokenizer tokenizer = make(small_document());
  std::string word;
  for (int i = 0; i < 200000; ++i) word += "abcde";

  const Ids ids = tokenizer.encode(word);  // quadratic merging would not end within the test's time

  REQUIRE(ids.size() == 400000);
  CHECK(ids[399998] == 6);
  CHECK(ids[399999] == 7);
}

}  // namespace
}  // namespace wafer::tokenizer
