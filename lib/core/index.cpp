#include "core/index.hpp"

#include "core/error.hpp"

namespace wafer {

std::vector<Index> part_offsets(Index length, Index parts) {
  WAFER_CHECK(parts > 0 && length >= 0, "a length is cut over at least one part");
  std::vector<Index> offsets(at(parts) + 1, 0);
  for (Index p = 0; p < parts; ++p)
    offsets[at(p) + 1] = offsets[at(p)] + length / parts + (p < length % parts ? 1 : 0);
  return offsets;
}

std::vector<Index> part_sizes(Index length, Index parts) {
  const auto offsets = part_offsets(length, parts);
  std::vector<Index> sizes;
  sizes.reserve(at(parts));
  for (Index p = 0; p < parts; ++p) sizes.push_back(offsets[at(p) + 1] - offsets[at(p)]);
  return sizes;
}

}  // namespace wafer
