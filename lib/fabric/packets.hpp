#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/index.hpp"
#include "fabric/exchange.hpp"

namespace wafer::fabric {

/// One message of numbers for, or from, each of a few peers, all in one piece of memory. First add() all that
/// they are to hold, then allocate(), then fill and send(), or receive() and read.
class Packets {
public:
  /// Where some of the numbers of a message are.
  struct Room {
    std::size_t peer = 0;
    std::size_t offset = 0;
  };
  Room add(mesh::Rank peer, std::size_t floats);
  bool empty() const { return peers_.empty(); }
  void allocate();
  float* at(Room room) const { return numbers_.get() + peers_[room.peer].begin + room.offset; }

  /// Posts a message for every peer; the numbers must live until exchange.wait() returns.
  void send(Exchange& exchange) const;
  void receive(Exchange& exchange);

private:
  struct Peer {
    mesh::Rank rank;
    std::size_t floats = 0;
    std::size_t begin = 0;
  };
  std::span<float> message(const Peer& peer) const { return {numbers_.get() + peer.begin, peer.floats}; }
  std::vector<Peer> peers_;  // a handful: neighbours on the mesh
  std::unique_ptr<float[]> numbers_;
};

}  // namespace wafer::fabric
