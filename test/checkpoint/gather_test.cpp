#include "checkpoint/gather.hpp"

#include <vector>

#include "core/error.hpp"
#include "core/random.hpp"
#include "io/helpers.hpp"

namespace wafer::checkpoint {
namespace {

using test::TemporaryFolder;

/// What element (i, j) holds: different for all elements of a small matrix.
std::uint32_t value_of(Shape shape, Index i, Index j) {
  return static_cast<std::uint32_t>(i * shape.cols + j) * 2654435761U;
}

/// A file with a few bytes, then a matrix of Elements with those values.
template <class Element>
class MatrixFile {
public:
  explicit MatrixFile(Shape shape) : shape_(shape), file_(write(folder_ / "matrix", shape)) {}

  StoredMatrix matrix() const { return {file_, offset, shape_, sizeof(Element)}; }

  /// Whether gather() gives the elements that slicing the whole would give.
  bool gathers(const std::vector<Index>& rows, const std::vector<Index>& cols) const {
    std::vector<Element> out(rows.size() * cols.size());
    gather(matrix(), rows, cols, std::as_writable_bytes(std::span(out)));
    std::size_t place = 0;
    for (const Index row : rows)
      for (const Index col : cols)
        if (out[place++] != static_cast<Element>(value_of(shape_, row, col))) return false;
    return true;
  }

private:
  static constexpr std::int64_t offset = 5;  // not aligned, as nothing promises
  static std::filesystem::path write(const std::filesystem::path& path, Shape shape) {
    std::vector<Element> values;
    for (Index i = 0; i < shape.rows; ++i)
      for (Index j = 0; j < shape.cols; ++j) values.push_back(static_cast<Element>(value_of(shape, i, j)));
    io::AtomicFile file(path);
    file.write(std::as_bytes(std::span("12345", 5)));
    file.write(std::as_bytes(std::span(values)));
    file.commit();
    return path;
  }

  TemporaryFolder folder_;
  Shape shape_;
  io::File file_;
};

std::vector<Index> counted(Index first, Index count, Index step = 1) {
  std::vector<Index> indices;
  for (Index i = 0; i < count; ++i) indices.push_back(first + i * step);
  return indices;
}

std::vector<Index> drawn(const Random& random, std::uint64_t& n, Index length, Index most) {
  std::vector<Index> indices(random.words(n++)[0] % static_cast<std::uint32_t>(most + 1));
  for (Index& index : indices) index = static_cast<Index>(random.words(n++)[0]) % length;
  return indices;
}

TEST_CASE("any selection equals slicing the whole") {
  const Random random(7, 1);
  std::uint64_t n = 0;
  for (const Shape shape : {Shape{1, 1}, Shape{1, 37}, Shape{41, 1}, Shape{17, 23}, Shape{64, 32}}) {
    const MatrixFile<std::uint16_t> narrow(shape);
    const MatrixFile<std::uint32_t> wide(shape);
    for (int round = 0; round < 60; ++round) {
      const auto rows = drawn(random, n, shape.rows, 50);
      const auto cols = drawn(random, n, shape.cols, 50);
      CHECK(narrow.gathers(rows, cols));
      CHECK(wide.gathers(rows, cols));
    }
  }
}

TEST_CASE("whole, reversed, repeated and empty selections") {
  const Shape shape = {13, 11};
  const MatrixFile<std::uint16_t> file(shape);
  const std::vector<Index> all_rows = counted(0, 13);
  const std::vector<Index> all_cols = counted(0, 11);
  CHECK(file.gathers(all_rows, all_cols));
  CHECK(file.gathers(counted(12, 13, -1), counted(10, 11, -1)));
  CHECK(file.gathers(counted(3, 7), all_cols));
  CHECK(file.gathers(all_rows, counted(3, 7)));
  CHECK(file.gathers({5}, counted(2, 3)));
  CHECK(file.gathers({0, 0, 12, 0, 5, 6, 7}, {4, 4, 0, 1, 2, 10}));
  CHECK(file.gathers({}, all_cols));
  CHECK(file.gathers(all_rows, {}));
}

TEST_CASE("columns and rows far apart") {
  const Shape shape = {7, 9000};  // gaps in a row and between rows above and below a page
  const MatrixFile<std::uint32_t> file(shape);
  std::vector<Index> cols = counted(8000, 1000);
  for (const Index col : counted(0, 500)) cols.push_back(col);
  cols.push_back(1600);
  CHECK(file.gathers(counted(0, 7), cols));
  CHECK(file.gathers({6, 0, 3}, cols));
  CHECK(file.gathers(counted(0, 7), {8999, 0}));
  CHECK(file.gathers(counted(0, 7), counted(1, 8998)));
}

TEST_CASE("selections larger than the buffer") {
  const MatrixFile<std::uint16_t> long_rows({2, 2'500'001});
  CHECK(long_rows.gathers({1, 0}, counted(0, 2'500'001)));
  CHECK(long_rows.gathers({0, 1}, counted(2'499'999, 2'499'998, -1)));
  const MatrixFile<std::uint32_t> many_rows({30'011, 67});
  CHECK(many_rows.gathers(counted(30'010, 30'011, -1), counted(0, 67)));
  CHECK(many_rows.gathers(counted(0, 15'000, 2), counted(1, 33, 2)));
  CHECK(many_rows.gathers(counted(1, 30'000), counted(0, 66)));
}

TEST_CASE("what is not in the matrix, and a result of the wrong size, are our mistakes") {
  const MatrixFile<std::uint16_t> file({3, 4});
  std::vector<std::byte> out(2);
  const std::vector<Index> zero = {0};
  for (const Index wrong : {Index{-1}, Index{4}}) {
    const std::vector<Index> indices = {wrong};
    CHECK_THROWS_AS(gather(file.matrix(), indices, zero, out), InternalError);
    CHECK_THROWS_AS(gather(file.matrix(), zero, indices, out), InternalError);
  }
  out.resize(3);
  CHECK_THROWS_AS(gather(file.matrix(), zero, zero, out), InternalError);
}

}  // namespace
}  // namespace wafer::checkpoint
