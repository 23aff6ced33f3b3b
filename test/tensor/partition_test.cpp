#include "tensor/partition.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "support/catch.hpp"

using namespace wafer;

namespace {

std::vector<Index> list_of(const Partition& partition, Index part) {
  const auto indices = partition.indices(part);
  return {indices.begin(), indices.end()};
}

// What holds for every partition: each index is where part_of and place_of say, offsets and sizes agree.
void check_laws(const Partition& partition) {
  Index next = 0;
  Index largest = 0;
  for (Index part = 0; part < partition.parts(); ++part) {
    CHECK(partition.offset(part) == next);
    const auto indices = partition.indices(part);
    CHECK(static_cast<Index>(indices.size()) == partition.size(part));
    for (Index place = 0; place < partition.size(part); ++place) {
      CHECK(partition.part_of(indices[at(place)]) == part);
      CHECK(partition.place_of(indices[at(place)]) == place);
    }
    next += partition.size(part);
    largest = std::max(largest, partition.size(part));
  }
  CHECK(next == partition.length());
  CHECK(partition.largest() == largest);
}

}  // namespace

TEST_CASE("an even partition has runs of neighbours, the longer ones first", "[tensor]") {
  for (Index length = 0; length <= 13; ++length)
    for (Index parts = 1; parts <= 15; ++parts) {
      const Partition partition = Partition::even(length, parts);
      check_laws(partition);
      CHECK(partition.parts() == parts);
      CHECK(partition.length() == length);
      for (Index part = 0; part < parts; ++part) {
        CHECK(partition.size(part) == length / parts + (part < length % parts ? 1 : 0));
        const auto indices = partition.indices(part);
        for (std::size_t k = 0; k < indices.size(); ++k)
          CHECK(indices[k] == partition.offset(part) + static_cast<Index>(k));
      }
    }
}

TEST_CASE("a partition of sizes has runs of these sizes", "[tensor]") {
  const std::vector<Index> sizes = {0, 3, 1, 0, 2};
  const Partition partition = Partition::of_sizes(sizes);
  check_laws(partition);
  for (Index part = 0; part < 5; ++part) CHECK(partition.size(part) == sizes[at(part)]);
  CHECK(list_of(partition, 1) == std::vector<Index>{0, 1, 2});
  CHECK(list_of(partition, 4) == std::vector<Index>{4, 5});
}

TEST_CASE("a partition of lists keeps the order of each list", "[tensor]") {
  const std::vector<std::vector<Index>> lists = {{4, 1}, {}, {0, 5, 2}, {3}};
  const Partition partition = Partition::of_lists(lists);
  check_laws(partition);
  for (Index part = 0; part < 4; ++part) CHECK(list_of(partition, part) == lists[at(part)]);
  CHECK(partition.part_of(5) == 2);
  CHECK(partition.place_of(5) == 1);
}

TEST_CASE("lists that miss an index, repeat one or go beyond the end are a mistake of ours", "[tensor]") {
  CHECK_THROWS_AS(Partition::of_lists({{0, 2}, {3}}), InternalError);
  CHECK_THROWS_AS(Partition::of_lists({{0, 1}, {1}}), InternalError);
  CHECK_THROWS_AS(Partition::of_lists({{0, -1}}), InternalError);
}

TEST_CASE("a refined partition cuts every part into pieces of its own, in order", "[tensor]") {
  const Partition partition = Partition::of_lists({{4, 1, 6}, {}, {0, 5, 2, 3}});
  const std::vector<Index> pieces = {2, 0, 3};
  const Partition refined = partition.refined(pieces);
  check_laws(refined);
  CHECK(refined == Partition::of_lists({{4, 1}, {6}, {0, 5}, {2}, {3}}));
  const std::vector<Index> too_few = {1, 1};
  const std::vector<Index> none_for_some = {0, 1, 1};
  CHECK_THROWS_AS(partition.refined(too_few), InternalError);
  CHECK_THROWS_AS(partition.refined(none_for_some), InternalError);
}

TEST_CASE("partitions are equal when parts and order are", "[tensor]") {
  const Partition even = Partition::even(5, 2);
  CHECK(Partition(even) == even);
  CHECK(Partition::of_lists({{0, 1, 2}, {3, 4}}) == even);
  CHECK_FALSE(Partition::of_lists({{0, 2, 1}, {3, 4}}) == even);
  CHECK_FALSE(Partition::even(5, 3) == even);
  CHECK_FALSE(Partition() == even);
  CHECK(Partition() == Partition());
}

TEST_CASE("a partition of nothing has no parts and no indices", "[tensor]") {
  CHECK(Partition().parts() == 0);
  CHECK(Partition().length() == 0);
  CHECK(Partition().largest() == 0);
  CHECK(Partition::even(0, 3).largest() == 0);
}
