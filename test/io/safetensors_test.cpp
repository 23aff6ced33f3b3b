#include "io/safetensors.hpp"

#include <array>

#include "core/random.hpp"
#include "io/helpers.hpp"

namespace wafer::io {
namespace {

using test::contains;
using test::input_error_of;
using test::TemporaryFolder;

/// A file with this header and so many bytes of data.
std::string file_of(const std::string& header, std::size_t data_bytes) {
  const std::array<std::uint64_t, 1> length = {header.size()};
  std::string text(reinterpret_cast<const char*>(length.data()), sizeof(length));
  return text + header + std::string(data_bytes, 'd');
}

TensorTable read(const TemporaryFolder& folder, const std::string& content) {
  write_text(folder / "m.safetensors", content);
  return read_safetensors_header(File(folder / "m.safetensors"));
}

std::string error_of(const std::string& header, std::size_t data_bytes) {
  const TemporaryFolder folder;
  return input_error_of([&] { read(folder, file_of(header, data_bytes)); });
}

const std::string good_header =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[3],"data_offsets":[24,30]},)"
    R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})";

TEST_CASE("a header says where each tensor lies") {
  const TemporaryFolder folder;
  const TensorTable tensors = read(folder, file_of(good_header, 30));
  REQUIRE(tensors.size() == 2);
  const auto data = static_cast<std::int64_t>(8 + good_header.size());
  CHECK(tensors.at("a").dtype == "F32");
  CHECK(tensors.at("a").shape == std::vector<Index>{2, 3});
  CHECK(tensors.at("a").offset == data);
  CHECK(tensors.at("a").bytes == 24);
  CHECK(tensors.at("b").offset == data + 24);
  CHECK(tensors.at("b").bytes == 6);
}

TEST_CASE("scalars, empty tensors, tensors of types that we do not use and empty files are well-formed") {
  const TemporaryFolder folder;
  CHECK(read(folder, file_of("{}", 0)).empty());
  CHECK(read(folder, file_of(R"({"s":{"dtype":"I64","shape":[],"data_offsets":[0,8]}})", 8)).size() == 1);
  CHECK(read(folder, file_of(R"({"e":{"dtype":"F8_E4M3","shape":[0,5],"data_offsets":[0,0]},)"
                             R"("f":{"dtype":"F4","shape":[3,2],"data_offsets":[0,3]}})",
                             3))
            .at("f")
            .bytes == 3);
}

TEST_CASE("what the writer writes is read back") {
  const TemporaryFolder folder;
  const std::vector<TensorSpec> specs = {{"z", "F16", {5}}, {"a", "F32", {1, 7}}, {"m", "BF16", {3, 0}}};
  SafetensorsWriter writer(folder / "m.safetensors", specs);
  const std::string data = "0123456789abcdefghijklmnopqrstuvwxyzAB";
  writer.write(std::as_bytes(std::span(data).subspan(0, 11)));
  writer.write(std::as_bytes(std::span(data).subspan(11)));
  CHECK_FALSE(std::filesystem::exists(folder / "m.safetensors"));
  writer.finish();
  const File file(folder / "m.safetensors");
  const TensorTable tensors = read_safetensors_header(file);
  REQUIRE(tensors.size() == 3);
  std::string read_back(28, '?');
  file.read_at(tensors.at("a").offset, std::as_writable_bytes(std::span(read_back)));
  CHECK(read_back == data.substr(10));
  CHECK(tensors.at("z").offset % 8 == 0);
  CHECK(tensors.at("m").bytes == 0);
}

TEST_CASE("the writer holds its caller to the sizes announced") {
  const TemporaryFolder folder;
  const std::vector<TensorSpec> specs = {{"a", "F16", {2}}};
  const std::array<std::byte, 5> bytes = {};
  SafetensorsWriter writer(folder / "m.safetensors", specs);
  CHECK_THROWS_AS(writer.finish(), InternalError);
  CHECK_THROWS_AS(writer.write(bytes), InternalError);
  CHECK_FALSE(std::filesystem::exists(folder / "m.safetensors"));
}

TEST_CASE("every truncation is refused") {
  const TemporaryFolder folder;
  const std::string whole = file_of(good_header, 30);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    INFO(length << " of " << whole.size() << " bytes");
    CHECK_THAT(input_error_of([&] { read(folder, whole.substr(0, length)); }), contains("m.safetensors"));
  }
  CHECK_THAT(input_error_of([&] { read(folder, whole + "x"); }), contains("goes on after its tensors"));
}

TEST_CASE("a header length that lies is refused before anything is allocated") {
  const TemporaryFolder folder;
  std::string content = file_of(good_header, 30);
  for (const char top : {'\x7f', '\xff'}) {
    content[7] = top;
    CHECK_THAT(input_error_of([&] { read(folder, content); }), contains("at most"));
  }
  CHECK_THAT(error_of("", 4), contains("does not start with '{'"));
  CHECK_THAT(error_of(" {}", 0), contains("does not start with '{'"));
}

TEST_CASE("offsets that lie are refused by the tensor's name") {
  const auto tensor = [](const std::string& offsets) {
    return R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":)" + offsets + "}}";
  };
  CHECK_THAT(error_of(tensor("[0,23]"), 23), contains("\"a\": data_offsets; got 23 bytes; expected 24"));
  CHECK_THAT(error_of(tensor("[24,0]"), 24), contains("begin <= end"));
  CHECK_THAT(error_of(tensor("[-24,0]"), 24), contains("begin <= end"));
  CHECK_THAT(error_of(tensor("[0]"), 24), contains("begin <= end"));
  CHECK_THAT(error_of(tensor("[0,24,48]"), 48), contains("begin <= end"));
  CHECK_THAT(error_of(tensor("[0.0,24.0]"), 24), contains("begin <= end"));
  CHECK_THAT(error_of(tensor("[18446744073709551592,18446744073709551615]"), 24), contains("begin <= end"));
  CHECK_THAT(error_of(tensor("[4,28]"), 28), contains("\"a\" follows a hole; got begin 4; expected 0"));
  CHECK_THAT(error_of(tensor("[0,24]"), 20), contains("ends early"));
  CHECK_THAT(error_of(tensor("[0,24]"), 28), contains("goes on"));
}

TEST_CASE("overlaps and holes between tensors are refused") {
  const auto pair = [](const std::string& offsets) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":)" +
           offsets + "}}";
  };
  CHECK_THAT(error_of(pair("[2,6]"), 6), contains("\"b\" overlaps another; got begin 2; expected 4"));
  CHECK_THAT(error_of(pair("[0,4]"), 4), contains("overlaps"));
  CHECK_THAT(error_of(pair("[5,9]"), 9), contains("follows a hole"));
  CHECK(error_of(pair("[4,8]"), 8) == "nothing was thrown");
}

TEST_CASE("types and shapes that lie are refused by the tensor's name") {
  const auto tensor = [](const std::string& dtype, const std::string& shape) {
    return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":[0,24]}})";
  };
  CHECK(error_of(tensor("\"F32\"", "[2,3]"), 24) == "nothing was thrown");
  CHECK_THAT(error_of(tensor("\"F33\"", "[2,3]"), 24), contains("\"a\": dtype; got \"F33\""));
  CHECK_THAT(error_of(tensor("7", "[2,3]"), 24), contains("dtype; got 7"));
  CHECK_THAT(error_of(tensor("\"F64\"", "[2,3]"), 24), contains("expected 48 for F64 (2, 3)"));
  CHECK_THAT(error_of(tensor("\"F32\"", "[2,-3]"), 24), contains("shape; got [2,-3]"));
  CHECK_THAT(error_of(tensor("\"F32\"", "[2.0,3]"), 24), contains("shape; got [2.0,3]"));
  CHECK_THAT(error_of(tensor("\"F32\"", "6"), 24), contains("shape; got 6"));
  // 2^61 * 2 * 4 bytes is 2^64, which is 0 in 64 bits.
  CHECK_THAT(error_of(tensor("\"F32\"", "[2305843009213693952,2,4]"), 24), contains("24 bytes"));
  CHECK_THAT(error_of(tensor("\"F32\"", "[99999999999999999999]"), 24), contains("shape"));
  CHECK_THAT(error_of(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4), contains("dtype; got nothing"));
  CHECK_THAT(error_of(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4), contains("shape; got nothing"));
  CHECK_THAT(error_of(R"({"a":{"dtype":"F32","shape":[1]}})", 4), contains("data_offsets; got nothing"));
  CHECK_THAT(error_of(R"({"a":[1]})", 0), contains("expected an object"));
  CHECK_THAT(error_of(R"({"__metadata__":{"a":1}})", 0), contains("__metadata__"));
}

TEST_CASE("a name twice is refused") {
  CHECK_THAT(error_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                      R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                      2),
             contains("\"a\" twice"));
}

TEST_CASE("a damaged byte of the header is an InputError or harmless") {
  const TemporaryFolder folder;
  const std::string whole = file_of(good_header, 30);
  const Random random(1, 2);
  int refused = 0;
  for (std::uint64_t n = 0; n < 3000; ++n) {
    const auto words = random.words(n);
    std::string damaged = whole;
    damaged[words[0] % (8 + good_header.size())] = static_cast<char>(words[1]);
    try {
      for (const auto& item : read(folder, damaged))
        CHECK(item.second.offset + item.second.bytes <= static_cast<std::int64_t>(whole.size()));
    } catch (const InputError&) {
      ++refused;
    }
  }
  CHECK(refused > 2000);
}

}  // namespace
}  // namespace wafer::io
