#include "ops/small_products.hpp"

#include <algorithm>
#include <vector>

#include "kernels/activation.hpp"
#include "kernels/gemm.hpp"
#include "kernels/small_gemm.hpp"

namespace wafer::ops {

using fabric::Blocks, fabric::Fabric;
using mesh::Range;

namespace {

constexpr Index bundle_width = 24;         // three vectors of eight: LIBXSMM is fastest there
constexpr Index panel_floats = 48 * 1024;  // of a bundle's steps
constexpr Index cache_floats = 64 * 1024;  // of the bundles that go through the rows together
constexpr Index ahead = 4;                 // blocks that are fetched before they are copied
constexpr Index most_lines = 64;           // rows and columns of cores that share copies

// A row or column of cores, and how many blocks it is ahead of one without skew.
struct Line {
  Index number = 0;
  Index skew = 0;
};

std::vector<Line> by_skew(Range lines, const std::function<Index(Index)>& skew_of, Index blocks) {
  std::vector<Line> sorted;
  sorted.reserve(at(lines.size()));
  for (Index line = lines.begin; line < lines.end; ++line)
    sorted.push_back({line, wrap(skew_of(line), blocks)});
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Line& a, const Line& b) { return a.skew < b.skew; });
  return sorted;
}

// Columns of cores that are multiplied together: their blocks of B and C stand side by side. Some may be
// another rank's, whose places stay empty.
struct Bundle {
  struct Member {
    Line line;
    Index begin = 0, width = 0;  // of the bundle's
    bool here = false;
  };
  // After `step` steps of the first member, a member begins or ends its own.
  struct Cut {
    Index step = 0;
    std::size_t member = 0;
    bool begins = false;
  };
  std::vector<Member> members;
  std::vector<Cut> cuts;
  Index width = 0;
  Index skew() const { return members.front().line.skew; }
  Index last_skew() const { return members.back().line.skew; }
};

void cut_at(Bundle& bundle, Index steps) {
  for (std::size_t m = 0; m < bundle.members.size(); ++m) {
    const Index first = bundle.members[m].line.skew - bundle.skew();
    bundle.cuts.push_back({first, m, true});
    bundle.cuts.push_back({first + steps, m, false});
  }
  std::stable_sort(bundle.cuts.begin(), bundle.cuts.end(),
                   [](const Bundle::Cut& a, const Bundle::Cut& b) { return a.step < b.step; });
}

// The bundles of all columns that have one here.
std::vector<Bundle> bundles_of(const Partition& cols, const ProductSteps& products, Index stretch) {
  std::vector<Bundle> bundles;
  for (const Line& line : by_skew({0, cols.parts()}, products.skew_of_column, products.blocks)) {
    const Index width = cols.size(line.number);
    if (bundles.empty() || bundles.back().width + width > bundle_width ||
        line.skew - bundles.back().skew() > stretch / 8)
      bundles.emplace_back();
    Bundle& bundle = bundles.back();
    bundle.members.push_back({line, bundle.width, width, products.columns.contains(line.number)});
    bundle.width += width;
  }
  std::erase_if(bundles, [](const Bundle& bundle) {
    return std::none_of(bundle.members.begin(), bundle.members.end(),
                        [](const Bundle::Member& member) { return member.here; });
  });
  return bundles;
}

// Neighbours whose skews are close to each other, so that they need nearly the same blocks.
template <class T, class Skew>
std::vector<std::span<const T>> groups_of(const std::vector<T>& all, Index most, Index most_apart,
                                          Skew skew_of) {
  std::vector<std::span<const T>> groups;
  std::size_t begin = 0;
  for (std::size_t end = 1; end <= all.size(); ++end)
    if (end == all.size() || end - begin >= at(most) ||
        skew_of(all[end]) - skew_of(all[begin]) > most_apart) {
      groups.push_back(std::span(all).subspan(begin, end - begin));
      begin = end;
    }
  return groups;
}

// Where the blocks begin that follow each other on the ring.
class Depths {
public:
  Depths(const Partition& contraction, const ProductSteps& products)
      : first_block_(products.first_block), blocks_(products.blocks), offsets_{0} {
    offsets_.reserve(at(4 * blocks_ + 1));
    for (Index k = 0; k < 4 * blocks_; ++k)  // steps, and skews of both kinds, go round once at most each
      offsets_.push_back(offsets_.back() + contraction.size(block(k)));
  }
  Index block(Index place) const { return first_block_ + wrap(place, blocks_); }
  /// Indices of the contraction in `count` blocks from a place on.
  Index depth(Index place, Index count) const {
    const Index start = wrap(place, blocks_);
    return offsets_[at(start + count)] - offsets_[at(start)];
  }

private:
  Index first_block_, blocks_;
  std::vector<Index> offsets_;
};

// One matrix for each line or bundle, in memory that is used again.
class Panels {
public:
  template <class T, class Shape_of, class Copy>
  void fill(std::span<const T> lines, Shape_of shape_of, Copy copy) {
    std::size_t bytes = 0;
    for (const T& line : lines) bytes += at(shape_of(line).size()) * sizeof(float);
    if (memory_.bytes() < bytes) memory_ = AlignedBuffer(bytes);
    panels_.clear();
    auto* next = reinterpret_cast<float*>(memory_.data());
    for (const T& line : lines) {
      const MatrixView<float> panel(next, shape_of(line));
      next += panel.shape().size();
      copy(line, panel);
      panels_.emplace_back(panel);
    }
  }
  MatrixView<const float> operator[](std::size_t line) const { return panels_[line]; }

private:
  AlignedBuffer memory_;
  std::vector<MatrixView<const float>> panels_;
};

// The next blocks lie anywhere, so the processor does not see them coming.
void fetch(const std::byte* data, std::size_t bytes) {
  constexpr std::size_t line = 64, most = 1024;
  for (std::size_t b = 0; b < std::min(bytes, most); b += line) __builtin_prefetch(data + b);
}

void copy_rows(MatrixView<const float> from, MatrixView<float> to) {
  for (Index r = 0; r < from.rows(); ++r) std::copy_n(from.row(r).data(), from.cols(), to.row(r).data());
}

void clear(MatrixView<float> block) {
  for (Index r = 0; r < block.rows(); ++r) std::fill_n(block.row(r).data(), block.cols(), 0.0F);
}

void add_rows(MatrixView<const float> from, MatrixView<float> to) {
  for (Index r = 0; r < from.rows(); ++r) kernels::add(from.row(r), to.row(r));
}

// A group of cores: some rows, and some bundles of columns.
class Group {
public:
  Group(const Blocks& A, const Blocks& B, Blocks& C, const ProductSteps& products, Panels& row_panels,
        Panels& bundle_panels)
      : A_(A),
        B_(B),
        C_(C),
        first_row_(products.first_row),
        depths_(B.placement().rows(), products),
        row_panels_(row_panels),
        bundle_panels_(bundle_panels) {}

  // Goes through the steps, `together` bundles at a time.
  void run(std::span<const Line> rows, std::span<const Bundle> bundles, Index together, Range steps) {
    row_skew_ = rows.front().skew;
    column_skew_ = bundles.front().skew();
    begin_ = steps.begin;
    gather_rows(rows, steps.size() + bundles.back().last_skew() - column_skew_);
    gather_bundles(bundles, steps.size() + rows.back().skew - row_skew_);
    for (std::size_t begin = 0; begin < bundles.size(); begin += at(together))
      for (std::size_t r = 0; r < rows.size(); ++r)
        for (std::size_t b = begin; b < std::min(bundles.size(), begin + at(together)); ++b)
          multiply(rows[r], row_panels_[r], bundles[b], bundle_panels_[b]);
  }

private:
  void gather_rows(std::span<const Line> rows, Index count) {
    const auto place = [this](const Line& row) { return row.skew + column_skew_ + begin_; };
    row_panels_.fill(
        rows,
        [&](const Line& row) {
          return Shape{A_.placement().rows().size(row.number), depths_.depth(place(row), count)};
        },
        [&](const Line& row, MatrixView<float> panel) {
          Index begin = 0;
          for (Index k = 0; k < count; ++k) {
            const Index coming = depths_.block(place(row) + k + ahead);
            fetch(A_.raw_or_null(row.number, coming), A_.block_bytes(row.number, coming));
            const Index number = depths_.block(place(row) + k);
            const Shape shape = A_.shape(row.number, number);
            if (A_.here(row.number, number))  // else only columns of another rank need it
              copy_rows(A_(row.number, number), panel.block(0, begin, shape));
            begin += shape.cols;
          }
        });
  }

  // `count` blocks of every member.
  void gather_bundles(std::span<const Bundle> bundles, Index count) {
    const auto place = [this](const Line& column) { return column.skew + row_skew_ + begin_; };
    bundle_panels_.fill(
        bundles,
        [&](const Bundle& bundle) {
          const Index blocks = count + bundle.last_skew() - bundle.skew();
          return Shape{depths_.depth(place(bundle.members.front().line), blocks),
                       kernels::padded(bundle.width)};
        },
        [&](const Bundle& bundle, MatrixView<float> panel) {
          for (const Bundle::Member& member : bundle.members) {
            if (!member.here) continue;
            const Line& first = bundle.members.front().line;
            Index begin = depths_.depth(place(first), member.line.skew - first.skew);
            for (Index k = 0; k < count; ++k) {
              const Index coming = depths_.block(place(member.line) + k + ahead);
              fetch(B_.raw_or_null(coming, member.line.number), B_.block_bytes(coming, member.line.number));
              const TypedView block = B_.typed(depths_.block(place(member.line) + k), member.line.number);
              widen_rows(block, panel.block(begin, member.begin, block.shape));
              begin += block.rows();
            }
          }
        });
  }

  static void widen_rows(TypedView from, MatrixView<float> to) {
    const std::size_t row_bytes = at(from.cols()) * size_of(from.type);
    for (Index r = 0; r < from.rows(); ++r)
      kernels::widen(from.type, from.data + at(r) * row_bytes, to.row(r));
  }

  void multiply(const Line& row, MatrixView<const float> A, const Bundle& bundle, MatrixView<const float> B) {
    const Shape shape{A.rows(), B.cols()};
    if (sum_memory_.size() < at(shape.size())) sum_memory_.resize(at(shape.size()));
    const MatrixView<float> sum(sum_memory_.data(), shape);
    const Index place = row.skew + bundle.skew() + begin_;
    const Index a_begin = depths_.depth(row.skew + column_skew_ + begin_, bundle.skew() - column_skew_);
    const Index b_begin = depths_.depth(bundle.skew() + row_skew_ + begin_, row.skew - row_skew_);
    Index done = 0;
    int adding = 0;  // members that are here
    for (const Bundle::Cut& cut : bundle.cuts) {
      const Index until = depths_.depth(place, cut.step);
      if (until > done && adding > 0)
        kernels::small_gemm(A.block(0, a_begin + done, {shape.rows, until - done}),
                            B.block(b_begin + done, 0, {until - done, shape.cols}), sum);
      done = until;
      const Bundle::Member& member = bundle.members[cut.member];
      if (!member.here) continue;
      adding += cut.begins ? 1 : -1;
      const MatrixView<float> C = C_(first_row_ + row.number, member.line.number);
      const MatrixView<float> part = sum.block(0, member.begin, C.shape());
      if (cut.begins)
        clear(part);
      else if (begin_ == 0)  // the first that a core adds
        copy_rows(part, C);
      else
        add_rows(part, C);
    }
  }

  const Blocks& A_;
  const Blocks& B_;
  Blocks& C_;
  Index first_row_;
  Depths depths_;
  Index row_skew_ = 0, column_skew_ = 0, begin_ = 0;  // where the panels begin
  Panels& row_panels_;
  Panels& bundle_panels_;
  std::vector<float> sum_memory_;
};

}  // namespace

void multiply_small(const Fabric& fabric, const Blocks& A, const Blocks& B, Blocks& C,
                    const ProductSteps& products, Range steps) {
  // How a core's steps are cut must not depend on the rectangle; how cores are grouped may.
  const Partition& cols = B.placement().cols();
  const Index width = kernels::padded(std::max(bundle_width, cols.largest()));
  const Index stretch =
      std::clamp(panel_floats / width / B.placement().rows().largest(), Index{1}, steps.size());
  const auto rows = by_skew(products.rows, products.skew_of_row, products.blocks);
  std::vector<Bundle> bundles = bundles_of(cols, products, stretch);
  const auto row_groups = groups_of(rows, most_lines, stretch, [](const Line& row) { return row.skew; });
  const Index together =
      std::max(Index{1}, cache_floats / (stretch * B.placement().rows().largest() * width));
  for (Index begin = steps.begin; begin < steps.end; begin += stretch) {
    const Range some{begin, std::min(steps.end, begin + stretch)};
    for (Bundle& bundle : bundles) {
      bundle.cuts.clear();
      cut_at(bundle, some.size());
    }
    const auto bundle_groups = groups_of(bundles, std::max(Index{1}, most_lines * cols.largest() / width),
                                         stretch, [](const Bundle& bundle) { return bundle.skew(); });
    const auto groups = static_cast<Index>(bundle_groups.size());
    fabric.parallel(static_cast<Index>(row_groups.size()) * groups, [&](Index group) {
      // Kept by every thread: to ask for megabytes anew for each group takes longer than to fill them.
      thread_local Panels row_panels, bundle_panels;
      Group(A, B, C, products, row_panels, bundle_panels)
          .run(row_groups[at(group / groups)], bundle_groups[at(group % groups)], together, some);
    });
  }
}

}  // namespace wafer::ops
