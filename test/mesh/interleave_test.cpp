#include "mesh/interleave.hpp"

#include <cstdlib>
#include <set>

#include "mesh/ring.hpp"
#include "support/catch.hpp"

using wafer::Index;
using namespace wafer::mesh;

TEST_CASE("INTERLEAVE is one ring whose neighbours are at most two hops apart", "[mesh]") {
  for (Index n = 1; n <= 200; ++n) {
    CAPTURE(n);
    std::set<Index> visited;
    Index place = 0;
    for (Index step = 0; step < n; ++step) {
      const RingPartners partners = interleave(place, n);
      CHECK(std::abs(partners.send - place) <= 2);
      CHECK(interleave(partners.send, n).receive == place);
      visited.insert(place);
      place = partners.send;
    }
    CHECK(place == 0);
    CHECK(static_cast<Index>(visited.size()) == n);
  }
}

TEST_CASE("the closed form is a permutation, its inverse is exact, and it follows Algorithm 1", "[mesh]") {
  for (Index n = 1; n <= 200; ++n) {
    CAPTURE(n);
    std::set<Index> positions;
    for (Index place = 0; place < n; ++place) {
      const RingPos position = interleaved_position(place, n);
      positions.insert(position.value);
      CHECK(interleaved_place(position, n) == place);
      CHECK(interleaved_position(interleave(place, n).receive, n).value == (position.value + 1) % n);
    }
    CHECK(static_cast<Index>(positions.size()) == n);
    CHECK(*positions.begin() == 0);
    CHECK(*positions.rbegin() == n - 1);
  }
}

TEST_CASE("the ring of five is the paper's", "[mesh]") {
  CHECK(interleave(0, 5).send == 2);
  CHECK(interleave(2, 5).send == 4);
  CHECK(interleave(4, 5).send == 3);
  CHECK(interleave(3, 5).send == 1);
  CHECK(interleave(1, 5).send == 0);
}

TEST_CASE("each directed link carries at most one flow of a shift", "[mesh]") {
  for (Index n = 3; n <= 64; ++n) {
    std::multiset<Index> up, down;
    for (Index place = 0; place < n; ++place) {
      const Index to = interleave(place, n).send;
      for (Index link = place; link < to; ++link) up.insert(link);
      for (Index link = to; link < place; ++link) down.insert(link);
    }
    for (Index link = 0; link + 1 < n; ++link) {
      CHECK(up.count(link) <= 1);
      CHECK(down.count(link) <= 1);
    }
  }
}
