#include "fabric/exchange.hpp"

#include "fabric/tilings.hpp"

using namespace wafer;
using fabric::Communicator, fabric::Exchange;
using mesh::Rank;
using test::world;

namespace {

// Message k from one rank to another: its length and its bytes tell which.
std::vector<std::byte> message(int from, int to, int k) {
  return std::vector<std::byte>(static_cast<std::size_t>(k * (from + 2 * to + 1)),
                                static_cast<std::byte>(16 * k + 4 * from + to));
}

}  // namespace

TEST_CASE("every message arrives whole, and in the order in which its sender posted it", "[fabric]") {
  const int me = world().rank().value;
  Exchange exchange(world());
  for (int round = 0; round < 2; ++round) {  // an exchange can be used again
    std::vector<std::vector<std::byte>> sent, received, expected;
    for (int peer = 0; peer < world().size(); ++peer)
      for (int k = 0; k < 4; ++k) {  // the first one is empty
        sent.push_back(message(me, peer, k));
        expected.push_back(message(peer, me, k));
        received.emplace_back(expected.back().size());
      }

    for (std::size_t m = 0; m < sent.size(); ++m) {
      const Rank peer{static_cast<int>(m / 4)};
      exchange.receive(peer, received[m]);
      exchange.send(peer, sent[m]);
    }
    exchange.wait();

    CHECK(received == expected);
  }
}

TEST_CASE("waiting for no message returns", "[fabric]") {
  Exchange exchange(world());
  exchange.wait();
  exchange.send({(world().rank().value + 1) % world().size()}, {});
  exchange.wait();
  SUCCEED();
}

TEST_CASE("a communicator's counts, maxima and texts are those of all ranks", "[fabric]") {
  const int size = world().size();
  const std::int64_t me = world().rank().value;
  CHECK(world().sum(me + 1) == size * (size + 1) / 2);
  CHECK(world().max(me) == size - 1);
  CHECK(world().min(-me) == 1 - size);
  CHECK(world().max(0.5 * static_cast<double>(me)) == 0.5 * (size - 1));
  std::vector<double> values = {1.0, static_cast<double>(me)};
  world().sum(values);
  CHECK(values == std::vector<double>{static_cast<double>(size), 0.5 * size * (size - 1)});

  const Rank last{size - 1};
  CHECK(world().broadcast(me == last.value ? "of the last" : "mine", last) == "of the last");
  CHECK(world().broadcast(me == last.value ? "" : "mine", last).empty());
  CHECK(world().broadcast(10 + me, last) == 9 + size);
  world().barrier();
}

TEST_CASE("ranks of one colour form a communicator in the order of their keys", "[fabric]") {
  const int me = world().rank().value;
  const int size = world().size();
  const Communicator half = world().split(me % 2, -me);

  CHECK(half.size() == (size + 1 - me % 2) / 2);
  CHECK(half.rank().value == (size - 1 - me) / 2);
}

TEST_CASE("an MPI call that fails is thrown with the call's name", "[fabric]") {
  Exchange exchange(world());
  const std::vector<std::byte> bytes(1);
  CHECK_THROWS_AS(exchange.send({world().size()}, bytes), fabric::MpiError);
  CHECK_THROWS_WITH(exchange.send({world().size()}, bytes), test::contains("MPI_Isend"));
}
