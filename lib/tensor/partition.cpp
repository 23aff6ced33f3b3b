#include "tensor/partition.hpp"

#include <algorithm>
#include <numeric>

#include "core/error.hpp"

namespace wafer {

Partition Partition::even(Index length, Index parts) {
  std::vector<Index> indices(static_cast<std::size_t>(length));
  std::iota(indices.begin(), indices.end(), Index{0});
  return make(part_offsets(length, parts), std::move(indices));
}

Partition Partition::of_sizes(std::span<const Index> sizes) {
  std::vector<Index> offsets = {0};
  for (const Index size : sizes) offsets.push_back(offsets.back() + size);
  std::vector<Index> indices(at(offsets.back()));
  std::iota(indices.begin(), indices.end(), Index{0});
  return make(std::move(offsets), std::move(indices));
}

Partition Partition::of_lists(const std::vector<std::vector<Index>>& lists) {
  std::vector<Index> offsets = {0};
  std::vector<Index> indices;
  for (const auto& list : lists) {
    indices.insert(indices.end(), list.begin(), list.end());
    offsets.push_back(static_cast<Index>(indices.size()));
  }
  return make(std::move(offsets), std::move(indices));
}

Partition Partition::make(std::vector<Index> offsets, std::vector<Index> indices) {
  const std::size_t length = indices.size();
  std::vector<Index> part_of(length, -1);
  std::vector<Index> place_of(length, -1);
  for (std::size_t p = 0; p + 1 < offsets.size(); ++p) {
    for (Index k = offsets[p]; k < offsets[p + 1]; ++k) {
      const Index index = indices[static_cast<std::size_t>(k)];
      WAFER_CHECK(
          index >= 0 && index < static_cast<Index>(length) && part_of[static_cast<std::size_t>(index)] < 0,
          "a partition holds every index once");
      part_of[static_cast<std::size_t>(index)] = static_cast<Index>(p);
      place_of[static_cast<std::size_t>(index)] = k - offsets[p];
    }
  }
  Partition partition;
  partition.data_ = std::make_shared<const Data>(
      Data{std::move(offsets), std::move(indices), std::move(part_of), std::move(place_of)});
  return partition;
}

std::vector<Index> Partition::sizes() const {
  std::vector<Index> all;
  all.reserve(static_cast<std::size_t>(parts()));
  for (Index part = 0; part < parts(); ++part) all.push_back(size(part));
  return all;
}

Index Partition::largest() const {
  Index most = 0;
  for (Index p = 0; p < parts(); ++p) most = std::max(most, size(p));
  return most;
}

Partition Partition::refined(std::span<const Index> pieces) const {
  WAFER_CHECK(static_cast<Index>(pieces.size()) == parts(), "one number of pieces per part");
  std::vector<Index> offsets = {0};
  for (Index p = 0; p < parts(); ++p) {
    const Index count = pieces[static_cast<std::size_t>(p)];
    if (count == 0) {
      WAFER_CHECK(size(p) == 0, "a part without pieces must be empty");
      continue;
    }
    const auto cuts = part_offsets(size(p), count);
    for (std::size_t k = 1; k < cuts.size(); ++k) offsets.push_back(offset(p) + cuts[k]);
  }
  return make(std::move(offsets), data_->indices);
}

bool operator==(const Partition& a, const Partition& b) {
  if (a.data_ == b.data_) return true;
  if (!a.data_ || !b.data_) return false;
  return a.data_->offsets == b.data_->offsets && a.data_->indices == b.data_->indices;
}

}  // namespace wafer
