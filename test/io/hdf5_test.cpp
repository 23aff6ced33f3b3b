#include "io/hdf5.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "core/random.hpp"
#include "io/file.hpp"
#include "io/helpers.hpp"
#include "io/limited_files.hpp"

/// The HDF5 library itself leaks when it meets a damaged file. A leak checker asks for this by name.
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace wafer::io {
namespace {

using test::contains;
using test::input_error_of;
using test::TemporaryFolder;

/// One dataset of each kind.
void write_example(const std::filesystem::path& path) {
  Hdf5Writer file(path);
  file.write("numbers/f64", {2, 3}, std::vector<double>{1, -2.5, 1e300, 0, 5, 6});
  file.write("numbers/f32", {3}, std::vector<float>{1, 2, 0.5F});
  file.write("numbers/i64", {1, 2}, std::vector<Index>{-7, std::numeric_limits<Index>::max()});
  file.write("numbers/none", {0}, std::vector<Index>{});
  file.write_text("text", "a \"text\"\nwith é");
  file.write_text("empty", "");
  file.begin_tensor({"weights/model.0.w", "BF16", {3, 2}});
  const std::array<std::uint16_t, 6> words = {1, 2, 3, 4, 5, 0xffff};
  file.append_rows(std::as_bytes(std::span(words).subspan(0, 2)));
  file.append_rows(std::as_bytes(std::span(words).subspan(2)));
  file.begin_tensor({"weights/v", "F32", {1}});
  const std::array<float, 1> value = {0.25F};
  file.append_rows(std::as_bytes(std::span(value)));
  CHECK_FALSE(std::filesystem::exists(path));
  file.commit();
}

TEST_CASE("every kind of dataset is read back") {
  const TemporaryFolder folder;
  write_example(folder / "a.h5");
  CHECK(folder.files() == 1);
  const Hdf5Reader file(folder / "a.h5");
  CHECK(file.names() == std::set<std::string>{"empty", "numbers/f32", "numbers/f64", "numbers/i64",
                                              "numbers/none", "text", "weights/model.0.w", "weights/v"});
  CHECK(file.shape("numbers/f64") == std::vector<Index>{2, 3});
  CHECK(file.shape("text").empty());
  CHECK(file.read_doubles("numbers/f64") == std::vector<double>{1, -2.5, 1e300, 0, 5, 6});
  CHECK(file.read_doubles("numbers/f32") == std::vector<double>{1, 2, 0.5});
  CHECK(file.read_indices("numbers/i64") == std::vector<Index>{-7, std::numeric_limits<Index>::max()});
  CHECK(file.read_indices("numbers/none").empty());
  CHECK(file.read_text("text") == "a \"text\"\nwith é");
  CHECK(file.read_text("empty").empty());
}

TEST_CASE("a tensor's words lie where the reader says") {
  const TemporaryFolder folder;
  write_example(folder / "a.h5");
  const StoredTensor tensor = Hdf5Reader(folder / "a.h5").locate("weights/model.0.w");
  CHECK(tensor.dtype == "BF16");
  CHECK(tensor.shape == std::vector<Index>{3, 2});
  REQUIRE(tensor.bytes == 12);
  std::array<std::uint16_t, 6> words = {};
  File(folder / "a.h5").read_at(tensor.offset, std::as_writable_bytes(std::span(words)));
  CHECK(words == std::array<std::uint16_t, 6>{1, 2, 3, 4, 5, 0xffff});
  CHECK(Hdf5Reader(folder / "a.h5").locate("weights/v").dtype == "F32");
}

TEST_CASE("a text longer than an attribute may be is kept whole") {
  const TemporaryFolder folder;
  const std::string text(300'001, 'x');
  Hdf5Writer file(folder / "a.h5");
  file.write_text("text", text);
  file.commit();
  CHECK(Hdf5Reader(folder / "a.h5").read_text("text") == text);
}

TEST_CASE("datasets that are missing or of another kind are refused by name") {
  const TemporaryFolder folder;
  write_example(folder / "a.h5");
  const Hdf5Reader file(folder / "a.h5");
  CHECK_THAT(input_error_of([&] { file.read_doubles("none"); }), contains("a.h5 has no dataset \"none\""));
  CHECK_THAT(input_error_of([&] { file.read_doubles("numbers"); }), contains("no dataset \"numbers\""));
  CHECK_THAT(input_error_of([&] { file.read_doubles("numbers/i64"); }), contains("floating-point"));
  CHECK_THAT(input_error_of([&] { file.read_indices("numbers/f64"); }), contains("whole numbers"));
  CHECK_THAT(input_error_of([&] { file.read_text("numbers/f64"); }), contains("one text"));
  CHECK_THAT(input_error_of([&] { file.locate("numbers/f64"); }),
             contains("\"numbers/f64\"; got another type"));
}

TEST_CASE("what is no HDF5 file is refused by name") {
  const TemporaryFolder folder;
  CHECK_THAT(input_error_of([&] { Hdf5Reader(folder / "none.h5"); }), contains("none.h5; got No such file"));
  CHECK_THAT(input_error_of([&] { Hdf5Reader file(folder.path()); }), contains("a directory"));
  for (const char* content : {"", "x", "\x89HDF\r\n\x1a\n", "{\"a\": 1}"}) {
    write_text(folder / "a.h5", content);
    CHECK_THAT(input_error_of([&] { Hdf5Reader(folder / "a.h5"); }),
               contains("a.h5 is no readable HDF5 file"));
  }
}

TEST_CASE("a truncated file is refused") {
  const TemporaryFolder folder;
  write_example(folder / "a.h5");
  const std::string whole = read_text(folder / "a.h5");
  for (std::size_t length = 0; length < whole.size(); length += length < 100 ? 1 : whole.size() / 40) {
    INFO(length << " of " << whole.size() << " bytes");
    write_text(folder / "a.h5", whole.substr(0, length));
    CHECK_THAT(input_error_of([&] { Hdf5Reader(folder / "a.h5"); }),
               contains("a.h5 is no readable HDF5 file"));
  }
}

TEST_CASE("a damaged byte is an InputError or harmless") {
  const TemporaryFolder folder;
  write_example(folder / "whole.h5");
  const std::string whole = read_text(folder / "whole.h5");
  const Random random(3, 4);
  int refused = 0;
  for (std::uint64_t n = 0; n < 400; ++n) {
    const auto words = random.words(n);
    std::string damaged = whole;
    damaged[words[0] % damaged.size()] = static_cast<char>(words[1]);
    write_text(folder / "a.h5", damaged);
    try {
      const Hdf5Reader file(folder / "a.h5");
      for (const std::string& name : file.names())
        if (name.compare(0, 7, "weights") == 0) file.locate(name);
      file.read_doubles("numbers/f64");
      file.read_text("text");
    } catch (const InputError&) {
      ++refused;
    }
  }
  CHECK(refused > 20);
}

TEST_CASE("the writer holds its caller to the rows announced") {
  const TemporaryFolder folder;
  Hdf5Writer file(folder / "a.h5");
  file.begin_tensor({"w", "F16", {2, 3}});
  const std::array<std::byte, 18> bytes = {};
  CHECK_THROWS_AS(file.append_rows(std::span(bytes).subspan(0, 5)), InternalError);
  CHECK_THROWS_AS(file.append_rows(bytes), InternalError);
  file.append_rows(std::span(bytes).subspan(0, 6));
  CHECK_THROWS_AS(file.commit(), InternalError);
  CHECK_FALSE(std::filesystem::exists(folder / "a.h5"));
}

TEST_CASE("without commit, and on a full disk, nothing is left behind") {
  const TemporaryFolder folder;
  { Hdf5Writer(folder / "a.h5").write_text("text", "x"); }
  CHECK(folder.files() == 0);
  const std::vector<double> values(100'000, 1.0);
  {
    const test::LimitedFiles limit(50'000);
    CHECK_THAT(input_error_of([&] {
                 Hdf5Writer file(folder / "a.h5");
                 file.write("values", {100'000}, values);
                 file.commit();
               }),
               contains("a.h5"));
  }
  CHECK(folder.files() == 0);
}

TEST_CASE("several readers may have a file open at once") {
  const TemporaryFolder folder;
  write_example(folder / "a.h5");
  const Hdf5Reader first(folder / "a.h5");
  const Hdf5Reader second(folder / "a.h5");
  CHECK(first.read_text("text") == second.read_text("text"));
}

}  // namespace
}  // namespace wafer::io
