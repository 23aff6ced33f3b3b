#include "io/file.hpp"

#include <array>
#include <fstream>

#include "io/atomic_file.hpp"
#include "io/helpers.hpp"
#include "io/limited_files.hpp"

namespace wafer::io {
namespace {

using test::contains;
using test::input_error_of;
using test::TemporaryFolder;

std::string text_at(const File& file, std::int64_t offset, std::size_t count) {
  std::string text(count, '?');
  file.read_at(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

TEST_CASE("a file is read at any place") {
  const TemporaryFolder folder;
  write_text(folder / "a", "0123456789");
  const File file(folder / "a");
  CHECK(file.size() == 10);
  CHECK(text_at(file, 3, 4) == "3456");
  CHECK(text_at(file, 0, 10) == "0123456789");
  CHECK(text_at(file, 9, 1) == "9");
  CHECK(text_at(file, 10, 0).empty());
  CHECK(read_text(folder / "a") == "0123456789");
}

TEST_CASE("an empty file is read as an empty text") {
  const TemporaryFolder folder;
  write_text(folder / "empty", "");
  CHECK(read_text(folder / "empty").empty());
}

TEST_CASE("reading beyond the end says how much there is") {
  const TemporaryFolder folder;
  write_text(folder / "a", "0123456789");
  const File file(folder / "a");
  CHECK_THAT(input_error_of([&] { text_at(file, 8, 3); }), contains("got 10 bytes; expected at least 11"));
  CHECK_THAT(input_error_of([&] { text_at(file, 1000, 1); }), contains("ends early"));
}

TEST_CASE("a missing file, a directory and a device are refused by name") {
  const TemporaryFolder folder;
  CHECK_THAT(input_error_of([&] { File(folder / "none"); }), contains("none; got No such file"));
  CHECK_THAT(input_error_of([&] { File file(folder.path()); }), contains("a directory"));
  CHECK_THAT(input_error_of([&] { File file("/dev/null"); }), contains("not a file"));
}

TEST_CASE("a moved file still reads") {
  const TemporaryFolder folder;
  write_text(folder / "a", "left");
  write_text(folder / "b", "right");
  File a(folder / "a");
  File b(std::move(a));
  CHECK(text_at(b, 0, 4) == "left");
  b = File(folder / "b");
  CHECK(text_at(b, 0, 5) == "right");
}

TEST_CASE("an atomic file appears at commit and leaves nothing else behind") {
  const TemporaryFolder folder;
  {
    AtomicFile file(folder / "a");
    file.write(std::as_bytes(std::span("new", 3)));
    CHECK_FALSE(std::filesystem::exists(folder / "a"));
    CHECK(std::filesystem::exists(file.temporary()));
    file.commit();
  }
  CHECK(read_text(folder / "a") == "new");
  CHECK(folder.files() == 1);
}

TEST_CASE("without commit the old file stays as it was") {
  const TemporaryFolder folder;
  write_text(folder / "a", "old");
  {
    AtomicFile file(folder / "a");
    file.write(std::as_bytes(std::span("new", 3)));
  }
  CHECK(read_text(folder / "a") == "old");
  CHECK(folder.files() == 1);
  write_text(folder / "a", "newer");
  CHECK(read_text(folder / "a") == "newer");
}

TEST_CASE("two files of one name do not meet before they are committed") {
  const TemporaryFolder folder;
  AtomicFile first(folder / "a");
  AtomicFile second(folder / "a");
  CHECK(first.temporary() != second.temporary());
}

TEST_CASE("a place that cannot be written to is refused by name") {
  const TemporaryFolder folder;
  CHECK_THAT(input_error_of([&] { AtomicFile file(folder / "none/a"); }),
             contains("none/a; got No such file or directory; try a folder that exists"));
  CHECK_THAT(input_error_of([&] { AtomicFile file(folder.path()); }), contains("directory"));
  CHECK_THAT(input_error_of([&] { AtomicFile file("/dev/null"); }), contains("not a file"));
}

TEST_CASE("a full disk is an error and leaves nothing behind") {
  const TemporaryFolder folder;
  const test::LimitedFiles limit(1000);
  CHECK_THAT(input_error_of([&] { write_text(folder / "a", std::string(1001, 'x')); }),
             contains("cannot write"));
  CHECK(folder.files() == 0);
  write_text(folder / "a", std::string(1000, 'x'));
  CHECK(folder.files() == 1);
}

}  // namespace
}  // namespace wafer::io
