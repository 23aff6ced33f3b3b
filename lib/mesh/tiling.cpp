#include "mesh/tiling.hpp"

#include <cstdlib>
#include <limits>

#include "core/error.hpp"

namespace wafer::mesh {

namespace {

Index divide_up(Index a, Index b) { return (a + b - 1) / b; }

Mesh best_grid(Mesh mesh, Index ranks) {
  Mesh best;
  Index least_cores = std::numeric_limits<Index>::max();
  Index least_edge = least_cores;
  for (Index rows = 1; rows <= ranks; ++rows) {
    if (ranks % rows != 0) continue;
    const Index height = divide_up(mesh.height, rows);
    const Index width = divide_up(mesh.width, ranks / rows);
    if (height * width < least_cores || (height * width == least_cores && height + width < least_edge)) {
      best = {rows, ranks / rows};
      least_cores = height * width;
      least_edge = height + width;
    }
  }
  return best;
}

std::vector<Index> owners(const std::vector<Index>& offsets) {
  std::vector<Index> owner(at(offsets.back()));
  for (std::size_t p = 0; p + 1 < offsets.size(); ++p)
    for (Index i = offsets[p]; i < offsets[p + 1]; ++i) owner[at(i)] = static_cast<Index>(p);
  return owner;
}

}  // namespace

Tiling::Tiling(Mesh mesh, int ranks, std::optional<Mesh> grid)
    : mesh_(mesh), grid_(grid.value_or(best_grid(mesh, ranks))) {
  if (ranks > mesh.cores())
    throw FitError({.what = "more ranks than cores",
                    .got = std::to_string(ranks) + " ranks for " + std::to_string(mesh.cores()) +
                           " cores (mesh " + to_string(mesh) + ")",
                    .expected = "at most one rank a core",
                    .remedy = "a larger --mesh or mpirun -n " + std::to_string(mesh.cores())});
  if (grid_.cores() != ranks)
    throw UsageError({.what = "--ranks-grid",
                      .got = to_string(grid_) + " = " + std::to_string(grid_.cores()) + " ranks",
                      .expected = "a grid of " + std::to_string(ranks) + " ranks"});
  row_offsets_ = part_offsets(mesh.height, grid_.height);
  column_offsets_ = part_offsets(mesh.width, grid_.width);
  row_of_ = owners(row_offsets_);
  column_of_ = owners(column_offsets_);
}

Tile Tiling::tile(Rank rank) const {
  const std::size_t row = at(rank.value / grid_.width);
  const std::size_t column = at(rank.value % grid_.width);
  return {{row_offsets_[row], row_offsets_[row + 1]}, {column_offsets_[column], column_offsets_[column + 1]}};
}

int Tiling::idle_ranks() const {
  int idle = 0;
  for (int r = 0; r < ranks(); ++r) idle += tile({r}).cores() == 0 ? 1 : 0;
  return idle;
}

}  // namespace wafer::mesh
