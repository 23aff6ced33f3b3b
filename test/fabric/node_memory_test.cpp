#include "fabric/node_memory.hpp"

#include <algorithm>
#include <cstring>

#include "fabric/tilings.hpp"

using namespace wafer;
using fabric::NodeBuffer, fabric::NodeMemory;
using mesh::Rank;

namespace {

std::byte value_of(int rank) { return static_cast<std::byte>(rank + 1); }

// Whether `count` bytes of rank r, from its offset on, are all its value.
bool reads(const NodeMemory& node, int r, std::int64_t offset, std::size_t count) {
  const std::byte* const there = node.there(Rank{r}, static_cast<std::size_t>(offset));
  return std::all_of(there, there + count, [&](std::byte b) { return b == value_of(r); });
}

}  // namespace

TEST_CASE("a rank that is alone on its node has no memory to share", "[fabric]") {
  const auto self = test::world().split(test::world().rank().value, 0);
  CHECK(self.node() == nullptr);
  CHECK((test::world().node() == nullptr) == (test::world().size() == 1));
  CHECK(NodeBuffer(self.node(), 4096).data() == nullptr);
}

TEST_CASE("a rank reads what the others of its node have written", "[fabric]") {
  const auto& world = test::world();
  const auto& node = world.node();
  if (node == nullptr) return;
  CHECK_FALSE(node->reaches(world.rank()));  // its own needs no second address
  constexpr std::size_t count = 3 * 4096 + 5;
  NodeBuffer gap(node,
                 static_cast<std::size_t>(1 + world.rank().value) * 5000);  // other offsets on every rank
  const NodeBuffer mine(node, count);
  REQUIRE(mine.data() != nullptr);
  std::fill_n(mine.data(), count, value_of(world.rank().value));
  const auto offset = node->offset_of(mine.data());
  REQUIRE(offset.has_value());
  world.barrier();
  for (int r = 0; r < world.size(); ++r) {
    const std::int64_t theirs = world.broadcast(static_cast<std::int64_t>(*offset), Rank{r});
    if (Rank{r} == world.rank()) continue;
    REQUIRE(node->reaches(Rank{r}));
    CHECK(reads(*node, r, theirs, count));
  }
  world.barrier();  // nobody frees what another may still read
}

TEST_CASE("the ranks of a part of the communicator have their own numbers in it", "[fabric]") {
  const auto& world = test::world();
  if (world.size() < 3) return;
  const auto part = world.split(world.rank().value == 0 ? 0 : 1, -world.rank().value);  // reversed
  const auto& node = part.node();
  if (part.size() == 1) return;
  const NodeBuffer mine(node, 100);
  std::fill_n(mine.data(), 100, value_of(part.rank().value));
  part.barrier();
  for (int r = 0; r < part.size(); ++r) {
    const auto theirs =
        part.broadcast(static_cast<std::int64_t>(node->offset_of(mine.data()).value()), Rank{r});
    if (Rank{r} != part.rank()) CHECK(reads(*node, r, theirs, 100));
  }
  part.barrier();
}

TEST_CASE("memory that was freed is given out again, and neighbouring gaps are one", "[fabric]") {
  const auto& node = test::world().node();
  if (node == nullptr) return;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096}, std::size_t{40} << 20}) {
    CAPTURE(bytes);
    std::byte* const a = node->allocate(bytes);
    std::byte* const b = node->allocate(bytes);
    std::byte* const c = node->allocate(bytes);
    REQUIRE((a != nullptr && b != nullptr && c != nullptr));
    CHECK(b >= a + bytes);
    CHECK(c >= b + bytes);
    std::memset(c, 1, bytes);
    node->free(a, bytes);
    node->free(c, bytes);
    node->free(b, bytes);
    const auto whole = static_cast<std::size_t>(c - a) + bytes;
    std::byte* const all = node->allocate(whole);
    CHECK(all == a);
    std::memset(all, 2, whole);
    CHECK(all[whole - 1] == std::byte{2});
    node->free(all, whole);
  }
}

TEST_CASE("much memory that was freed goes back to the system", "[fabric]") {
  const auto& node = test::world().node();
  if (node == nullptr) return;
  constexpr std::size_t bytes = std::size_t{80} << 20;
  for (int time = 0; time < 2; ++time) {
    const NodeBuffer buffer(node, bytes);
    REQUIRE(buffer.data() != nullptr);
    CHECK(std::count(buffer.data(), buffer.data() + bytes, std::byte{0}) == static_cast<long>(bytes));
    std::memset(buffer.data(), 1, bytes);
  }
}

TEST_CASE("what has no room is refused, not cut, and leaves everything as it was", "[fabric]") {
  const auto& node = test::world().node();
  if (node == nullptr) return;
  CHECK(node->allocate(std::size_t{1} << 60) == nullptr);
  CHECK(NodeBuffer(node, std::size_t{1} << 60).data() == nullptr);
  const NodeBuffer one(node, 1);
  CHECK(one.data() != nullptr);
  std::byte elsewhere{};
  CHECK_FALSE(node->offset_of(&elsewhere).has_value());
}
