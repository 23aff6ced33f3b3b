#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tensor/view.hpp"

namespace wafer {

/// How the indices 0 .. length-1 are cut over parts. Every index is in exactly one part; parts may be empty;
/// the indices of a part keep the order given. Cheap to copy (the lists are shared and never change).
class Partition {
public:
  Partition() = default;

  /// part(n, p): `parts` runs of neighbours, the first n mod p one longer.
  static Partition even(Index length, Index parts);

  /// Runs of neighbours of the given sizes.
  static Partition of_sizes(std::span<const Index> sizes);

  /// One part per list. @throws InternalError unless the lists hold each of 0 .. length-1 once.
  static Partition of_lists(const std::vector<std::vector<Index>>& lists);

  Index length() const { return data_ ? static_cast<Index>(data_->indices.size()) : 0; }
  Index parts() const { return data_ ? static_cast<Index>(data_->offsets.size()) - 1 : 0; }

  /// Number of indices in part p.
  Index size(Index part) const { return offset(part + 1) - offset(part); }

  /// Of all parts.
  std::vector<Index> sizes() const;

  /// Number of indices in the parts before p.
  Index offset(Index part) const { return data_->offsets[static_cast<std::size_t>(part)]; }

  /// The indices of a part, in its order.
  std::span<const Index> indices(Index part) const {
    return std::span(data_->indices)
        .subspan(static_cast<std::size_t>(offset(part)), static_cast<std::size_t>(size(part)));
  }

  /// The part that holds an index, and its place there.
  Index part_of(Index index) const { return data_->part_of[static_cast<std::size_t>(index)]; }
  Index place_of(Index index) const { return data_->place_of[static_cast<std::size_t>(index)]; }

  /// Size of the largest part.
  Index largest() const;

  /// Cuts part p into `pieces[p]` pieces by part(size, pieces): a finer partition, in the same order.
  Partition refined(std::span<const Index> pieces) const;

  friend bool operator==(const Partition& a, const Partition& b);

private:
  struct Data {
    std::vector<Index> offsets;   // (parts + 1)
    std::vector<Index> indices;   // (length) part after part
    std::vector<Index> part_of;   // (length)
    std::vector<Index> place_of;  // (length)
  };
  static Partition make(std::vector<Index> offsets, std::vector<Index> indices);
  std::shared_ptr<const Data> data_;
};

}  // namespace wafer
