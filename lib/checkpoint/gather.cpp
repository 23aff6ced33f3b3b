#include "checkpoint/gather.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "core/error.hpp"

namespace wafer::checkpoint {
namespace {

constexpr Index buffer_bytes = Index{4} << 20;
constexpr Index gap_bytes = 4096;  // reading over a gap of a page is cheaper than another call

/// `count` neighbours that stay neighbours: index `from` goes to place `to`.
struct Run {
  Index from = 0;
  Index to = 0;
  Index count = 0;
};

/// Runs whose indices lie close together: the indices [first, last) are read at once.
struct Piece {
  Index first = 0;
  Index last = 0;
  std::vector<Run> runs;
};

/// The indices as runs, lowest first.
std::vector<Run> runs_of(std::span<const Index> indices) {
  std::vector<Index> order(indices.size());
  std::iota(order.begin(), order.end(), Index{0});
  const auto at = [&](Index place) { return indices[static_cast<std::size_t>(place)]; };
  const auto before = [&](Index a, Index b) { return at(a) != at(b) ? at(a) < at(b) : a < b; };
  if (!std::is_sorted(order.begin(), order.end(), before)) std::sort(order.begin(), order.end(), before);
  std::vector<Run> runs;
  for (const Index place : order) {
    Run* last = runs.empty() ? nullptr : &runs.back();
    if (last != nullptr && at(place) == last->from + last->count && place == last->to + last->count)
      ++last->count;
    else
      runs.push_back({at(place), place, 1});
  }
  return runs;
}

/// Joins runs with gaps of at most `gap` to pieces of at most `longest`; cuts runs that are longer.
std::vector<Piece> pieces_of(const std::vector<Run>& runs, Index gap, Index longest) {
  std::vector<Piece> pieces;
  for (Run rest : runs) {
    while (rest.count > 0) {
      const Index count = std::min(rest.count, longest);
      const Index end = rest.from + count;
      if (pieces.empty() || rest.from > pieces.back().last + gap || end > pieces.back().first + longest)
        pieces.push_back({rest.from, rest.from, {}});
      Piece& piece = pieces.back();
      piece.last = std::max(piece.last, end);
      piece.runs.push_back({rest.from, rest.to, count});
      rest = {end, rest.to + count, rest.count - count};
    }
  }
  return pieces;
}

/// Copies the runs of one row. A template, so that an element is moved by one instruction.
template <class Element>
void copy_runs(const std::byte* row, const Piece& piece, std::byte* out) {
  const auto* from = reinterpret_cast<const Element*>(row);
  auto* to = reinterpret_cast<Element*>(out);
  for (const Run& run : piece.runs) {
    if (run.count == 1)
      to[run.to] = from[run.from - piece.first];
    else
      std::copy_n(from + (run.from - piece.first), run.count, to + run.to);
  }
}

/// One reading of a matrix, piece by piece.
class Gather {
public:
  Gather(const StoredMatrix& matrix, Index out_cols, std::span<std::byte> out)
      : matrix_(matrix), size_(static_cast<Index>(matrix.element_size)), out_cols_(out_cols), out_(out) {}

  /// The rows `rows` of the columns `cols`, in as few reads as the buffer allows.
  void read(const std::vector<Run>& rows, const Piece& cols) {
    const Index row_bytes = matrix_.shape.cols * size_;
    const Index width = (cols.last - cols.first) * size_;
    // Between the pieces of two neighbouring rows lies the rest of a row.
    const bool joins = row_bytes - width <= gap_bytes;
    const Index gap = joins ? (gap_bytes - (row_bytes - width)) / row_bytes : 0;
    const Index most_rows = joins ? std::max<Index>(1, (buffer_bytes - width) / row_bytes + 1) : 1;
    for (const Piece& piece : pieces_of(rows, gap, most_rows)) {
      const Index bytes = (piece.last - piece.first - 1) * row_bytes + width;
      read_buffer(piece.first * row_bytes + cols.first * size_, bytes);
      for (const Run& run : piece.runs)
        for (Index i = 0; i < run.count; ++i)
          put_row((run.from + i - piece.first) * row_bytes, cols, run.to + i);
    }
  }

private:
  void read_buffer(Index place, Index bytes) {
    if (bytes > capacity_) {
      buffer_ = std::make_unique<std::byte[]>(static_cast<std::size_t>(bytes));
      capacity_ = bytes;
    }
    matrix_.file.read_at(matrix_.offset + place, {buffer_.get(), static_cast<std::size_t>(bytes)});
  }

  void put_row(Index place, const Piece& cols, Index out_row) {
    const std::byte* row = buffer_.get() + place;
    std::byte* out = out_.data() + out_row * out_cols_ * size_;
    if (size_ == 2)
      copy_runs<std::uint16_t>(row, cols, out);
    else
      copy_runs<std::uint32_t>(row, cols, out);
  }

  const StoredMatrix& matrix_;
  Index size_;  // of an element  [bytes]
  Index out_cols_;
  std::span<std::byte> out_;
  std::unique_ptr<std::byte[]> buffer_;
  Index capacity_ = 0;  // of the buffer  [bytes]
};

void check_indices(std::span<const Index> indices, Index length) {
  for (const Index index : indices)
    WAFER_CHECK(0 <= index && index < length,
                std::to_string(index) + " is not in 0 .. " + std::to_string(length - 1));
}

}  // namespace

void gather(const StoredMatrix& matrix, std::span<const Index> rows, std::span<const Index> cols,
            std::span<std::byte> out) {
  const std::size_t size = matrix.element_size;
  WAFER_CHECK(size == 2 || size == 4, "elements of two or four bytes");
  WAFER_CHECK(out.size() == rows.size() * cols.size() * size, "room for the elements that are read");
  check_indices(rows, matrix.shape.rows);
  check_indices(cols, matrix.shape.cols);
  if (out.empty()) return;
  const std::vector<Run> row_runs = runs_of(rows);
  const std::vector<Run> col_runs = runs_of(cols);
  const bool whole_rows = col_runs.size() == 1 && col_runs[0].count == matrix.shape.cols;
  if (row_runs.size() == 1 && (whole_rows || rows.size() == 1) && col_runs.size() == 1) {
    const Index first = rows[0] * matrix.shape.cols + cols[0];
    matrix.file.read_at(matrix.offset + first * static_cast<Index>(size), out);
    return;
  }
  const auto element = static_cast<Index>(size);
  Gather reading(matrix, static_cast<Index>(cols.size()), out);
  for (const Piece& piece : pieces_of(col_runs, gap_bytes / element, buffer_bytes / element))
    reading.read(row_runs, piece);
}

}  // namespace wafer::checkpoint
