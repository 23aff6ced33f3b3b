#pragma once

#include <optional>
#include <vector>

#include "mesh/mesh.hpp"

namespace wafer::mesh {

/// begin <= i < end.
struct Range {
  Index begin = 0;
  Index end = 0;
  Index size() const { return end - begin; }
  bool contains(Index i) const { return begin <= i && i < end; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// The rectangle of cores that one rank emulates; may be empty.
struct Tile {
  Range rows;
  Range columns;
  Index cores() const { return rows.size() * columns.size(); }
  /// The tile's places on a line along the axis, and its lines.
  Range places(Axis axis) const { return axis == Axis::x ? columns : rows; }
  Range lines(Axis axis) const { return axis == Axis::x ? rows : columns; }
  bool contains(CoreCoord core) const { return rows.contains(core.y) && columns.contains(core.x); }
};

/// A mesh cut into a grid of tiles, one a rank; rank = grid row * grid columns + grid column.
class Tiling {
public:
  /// @param grid rows x columns of ranks; without it, the grid whose largest tile is smallest, of those the
  /// one whose tiles are nearest to squares.
  /// @throws FitError for more ranks than cores, UsageError for a grid that has another number of ranks.
  Tiling(Mesh mesh, int ranks, std::optional<Mesh> grid = std::nullopt);

  Mesh mesh() const { return mesh_; }
  Mesh grid() const { return grid_; }
  int ranks() const { return static_cast<int>(grid_.cores()); }

  Tile tile(Rank rank) const;
  Rank rank_of(CoreCoord core) const {
    return {static_cast<int>(row_of_[at(core.y)] * grid_.width + column_of_[at(core.x)])};
  }
  /// Ranks without a core.
  int idle_ranks() const;

private:
  Mesh mesh_;
  Mesh grid_;
  std::vector<Index> row_offsets_;     // (grid rows + 1)
  std::vector<Index> column_offsets_;  // (grid columns + 1)
  std::vector<Index> row_of_;          // (H) grid row of a core's row
  std::vector<Index> column_of_;       // (W)
};

}  // namespace wafer::mesh
