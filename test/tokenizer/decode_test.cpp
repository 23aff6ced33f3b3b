#include "tokenizer/decode.hpp"

#include "documents.hpp"
#include "support/catch.hpp"

namespace wafer::tokenizer {
namespace {

const std::string bad = "\xEF\xBF\xBD";

Decoder decoder_of(const std::string& json) {
  const io::Json value = json_of(json);
  return Decoder(Field(value, "a test"));
}

/// What comes out after each token and at the end, joined by bars.
std::string pieces(Decoder decoder, const Texts& tokens) {
  std::string all;
  for (const std::string& token : tokens) all += decoder.push(token) + "|";
  return all + decoder.finish();
}

std::string in_sequence(const std::string& decoders) {
  return R"({"type": "Sequence", "decoders": [)" + decoders + "]}";
}

const std::string byte_fallback = R"({"type": "ByteFallback"})";
const std::string fuse = R"({"type": "Fuse"})";
const std::string strip_start = R"({"type": "Strip", "content": " ", "start": 1, "stop": 0})";
const std::string sign_to_space = R"({"type": "Replace", "pattern": {"String": "_"}, "content": " "})";

TEST_CASE("without a decoder, spaces stand between the tokens") {
  CHECK(pieces(Decoder(std::nullopt), {"a", "b", ""}) == "a| b| |");
  CHECK(pieces(Decoder(std::nullopt), {}).empty());
}

TEST_CASE("ByteLevel gives bytes, and whole characters only") {
  const Decoder decoder = decoder_of(R"({"type": "ByteLevel"})");
  CHECK(pieces(decoder, {"a",
                         "\xC4\xA0"
                         "b"}) == "a| b|");
  CHECK(pieces(decoder, {"\xC3\xA2\xC4\xA4", "\xC2\xAC", "x"}) ==
        "|\xE2\x82\xAC|x|");  // the euro sign in two
  CHECK(pieces(decoder, {"\xC3\xA2\xC4\xA4"}) == "|" + bad);
  CHECK(pieces(decoder, {"\xC3\xA2\xC4\xA4", "x"}) == "|" + bad + "x|");
  CHECK(pieces(decoder, {"a b"}) == "a b|");  // outside the alphabet: as it stands
  CHECK(pieces(decoder, {}).empty());
}

TEST_CASE("ByteFallback makes a run of bytes a text, or a mark for each byte") {
  const Decoder decoder = decoder_of(byte_fallback);
  CHECK(pieces(decoder, {"<0xE2>", "<0x82>", "<0xac>", "x"}) == "|||\xE2\x82\xACx|");
  CHECK(pieces(decoder, {"<0xE2>", "<0x82>"}) == "||" + bad + bad);
  CHECK(pieces(decoder, {"<0xE2>", "<0x82>", "x", "<0x41>"}) == "||" + bad + bad + "x||A");
  CHECK(pieces(decoder, {"<0x41>", "<0xFF>"}) == "||" + bad + bad);  // one bad byte spoils its run
  CHECK(pieces(decoder, {"<0xG1>", "<0x4>", "<0x-1>"}) == "<0xG1>|<0x4>|<0x-1>|");
}

TEST_CASE("Metaspace gives spaces, and none in the first token where encoding put one") {
  CHECK(pieces(decoder_of(R"({"type": "Metaspace", "replacement": "_"})"), {"_a", "_b_"}) == "a| b |");
  CHECK(pieces(decoder_of(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "never"})"),
               {"_a"}) == " a|");
}

TEST_CASE("Strip works on each token, or once behind Fuse") {
  CHECK(pieces(decoder_of(strip_start), {"  a", " b", "c "}) == " a|b|c |");
  CHECK(pieces(decoder_of(in_sequence(fuse + "," + strip_start)), {"  a", " b"}) == " a| b|");
  CHECK(pieces(decoder_of(in_sequence(fuse + "," + strip_start)), {"", " ", " b"}) == "|| b|");
  CHECK(pieces(decoder_of(R"({"type": "Strip", "content": "x", "start": 0, "stop": 2})"),
               {"axxx", "x", ""}) == "ax|||");
  CHECK(pieces(decoder_of(in_sequence(fuse + R"(,{"type": "Strip", "content": "x", "start": 1, "stop": 1})")),
               {"xa", "x", "x"}) == "|||ax");
}

TEST_CASE("the Llama 2 form loses one space at its start and no other") {
  const Decoder decoder =
      decoder_of(in_sequence(sign_to_space + "," + byte_fallback + "," + fuse + "," + strip_start));
  CHECK(pieces(decoder, {"_Once", "_up", "on"}) == "Once| up|on|");
  CHECK(pieces(decoder, {"_", "_", "a"}) == "| |a|");
  CHECK(pieces(decoder, {"<0x20>", "<0x41>", "b"}) == "||Ab|");
}

TEST_CASE("what needs the whole text waits for it") {
  const std::string pair = R"({"type": "Replace", "pattern": {"String": "ab"}, "content": "-"})";
  CHECK(pieces(decoder_of(in_sequence(fuse + "," + pair)), {"a", "b"}) == "||-");
  CHECK(pieces(decoder_of(in_sequence(fuse + "," + sign_to_space)), {"a_", "_b"}) == "a | b|");
  CHECK(pieces(decoder_of(in_sequence(fuse + "," + byte_fallback)), {"<0x", "41>"}) == "||A");
  CHECK(pieces(decoder_of(in_sequence(fuse + R"(,{"type": "Metaspace", "replacement": "_"})")),
               {"_a", "_b"}) == "a|b|");
}

TEST_CASE("a Sequence inside a Sequence is one chain") {
  CHECK(pieces(decoder_of(in_sequence(in_sequence(sign_to_space) + "," + fuse)), {"_a"}) == " a|");
  CHECK(pieces(decoder_of(in_sequence("")), {"a", "b"}) == "a|b|");
}

TEST_CASE("a stream begins anew after finish and skips special tokens") {
  io::Json document = small_document();
  document["decoder"] = json_of(byte_fallback);
  document["added_tokens"] = json_of(R"([{"id": 15, "content": "<s>", "special": true}])");
  const Tokenizer tokenizer = make(document);
  DecodeStream stream(tokenizer);

  CHECK(stream.push(9).empty());
  CHECK(stream.push(15).empty());  // does not end the run of bytes
  CHECK(stream.push(10).empty());
  CHECK(stream.push(11).empty());
  CHECK(stream.push(0) ==
        "\xE2\x82\xAC"
        "a");
  CHECK(stream.push(9).empty());
  CHECK(stream.finish() == bad);
  CHECK(stream.push(1) == "b");
  CHECK(stream.finish().empty());
}

TEST_CASE("the pieces of a stream are decode() of all ids, whatever the ids") {
  const std::string decoder =
      GENERATE_COPY(as<std::string>(), R"({"type": "ByteLevel"})", byte_fallback, fuse, strip_start,
                    in_sequence(sign_to_space + "," + byte_fallback + "," + fuse + "," + strip_start));
  const Tokenizer tokenizer = with("decoder", decoder);
  Ids ids;
  for (Index i = 0; i < 30000; ++i) ids.push_back((i * i + i / 7) % 16);  // also one id that names no token
  DecodeStream stream(tokenizer);
  std::string text;

  for (const Index id : ids) text += stream.push(id);
  text += stream.finish();

  CHECK(text == tokenizer.decode(ids));
  CHECK(text.size() > 20000);
}

}  // namespace
}  // namespace wafer::tokenizer
