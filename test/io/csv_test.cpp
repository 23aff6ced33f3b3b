#include "io/csv.hpp"

#include "io/atomic_file.hpp"
#include "io/helpers.hpp"

namespace wafer::io {
namespace {

using test::contains;
using test::input_error_of;

// A table on disk for one test.
struct Written {
  test::TemporaryFolder folder;
  std::filesystem::path path = folder / "a.csv";
  explicit Written(const std::string& text) { write_text(path, text); }
  std::string error() const {
    return input_error_of([&] { const Csv csv(path); });
  }
};

TEST_CASE("values are found by row and name, and comments and empty lines are left out") {
  const Written file("# about\nname,n\n\none,1\n# two,2\nthree,-3.5e1\n");
  const Csv csv(file.path);
  REQUIRE(csv.rows() == 2);
  CHECK(csv.text(0, "name") == "one");
  CHECK(csv.number(0, "n") == 1.0);
  CHECK(csv.text(1, "name") == "three");
  CHECK(csv.number(1, "n") == -35.0);
}

TEST_CASE("a last line without a line break counts") {
  const Written file("a,b\n1,2\n3,4");
  const Csv csv(file.path);
  REQUIRE(csv.rows() == 2);
  CHECK(csv.number(1, "b") == 4.0);
}

TEST_CASE("a line with too few or too many values is refused with its number in the file") {
  CHECK_THAT(Written("# c\na,b\n1,2\n\n3\n").error(),
             contains("a.csv: line 5") && contains("1 values") && contains("expected 2"));
  CHECK_THAT(Written("a,b\n1,2,3\n").error(), contains("a.csv: line 2") && contains("3 values"));
  CHECK_THAT(Written("a,b\n1,2,\n").error(), contains("a.csv: line 2") && contains("3 values"));
}

TEST_CASE("empty fields are values, the last one too") {
  const Written file("a,b,c\n,,\n1,,3\n,2,\n");
  const Csv csv(file.path);
  REQUIRE(csv.rows() == 3);
  for (const char* name : {"a", "b", "c"}) CHECK(csv.text(0, name).empty());
  CHECK(csv.text(1, "b").empty());
  CHECK(csv.text(1, "c") == "3");
  CHECK(csv.text(2, "c").empty());
  CHECK_THAT(input_error_of([&] { csv.number(2, "c"); }), contains("a.csv: c") && contains("\"\""));
}

TEST_CASE("line breaks of two characters read like those of one") {
  const Written file("# c\r\na,b\r\n1,x\r\n\r\n2,\r\n");
  const Csv csv(file.path);
  REQUIRE(csv.rows() == 2);
  CHECK(csv.text(0, "b") == "x");
  CHECK(csv.number(1, "a") == 2.0);
  CHECK(csv.text(1, "b").empty());
}

TEST_CASE("a column that is not there is refused by name") {
  const Written file("a,b\n1,2\n");
  const Csv csv(file.path);
  CHECK_THAT(input_error_of([&] { csv.text(0, "c"); }), contains("a.csv") && contains("\"c\""));
  CHECK_THAT(input_error_of([&] { csv.number(0, ""); }), contains("a.csv") && contains("\"\""));
}

TEST_CASE("what is no number in full is refused with the file, the column and the value") {
  const Written file("n\none\n1x\n 1\n0x10\n1.5\n1;5\n");
  const Csv csv(file.path);
  for (const std::size_t row : {0, 1, 2, 3, 5})
    CHECK_THAT(input_error_of([&] { csv.number(row, "n"); }),
               contains("a.csv: n") && contains("\"" + csv.text(row, "n") + "\"") && contains("a number"));
  CHECK(csv.number(4, "n") == 1.5);
}

TEST_CASE("a table without rows has none, and a file without a table no columns") {
  CHECK(Csv(Written("a,b\n").path).rows() == 0);
  const Written file("# only this\n");
  const Csv csv(file.path);
  CHECK(csv.rows() == 0);
  CHECK_THAT(input_error_of([&] { csv.text(0, "a"); }), contains("no column \"a\""));
}

TEST_CASE("a file that is not there is refused by name") {
  const test::TemporaryFolder folder;
  CHECK_THAT(input_error_of([&] { const Csv csv(folder / "none.csv"); }), contains("none.csv"));
}

}  // namespace
}  // namespace wafer::io
