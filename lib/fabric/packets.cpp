#include "fabric/packets.hpp"

#include <algorithm>

namespace wafer::fabric {

Packets::Room Packets::add(mesh::Rank peer, std::size_t floats) {
  auto found =
      std::find_if(peers_.begin(), peers_.end(), [peer](const Peer& known) { return known.rank == peer; });
  if (found == peers_.end()) found = peers_.insert(found, Peer{peer});
  const Room room{static_cast<std::size_t>(found - peers_.begin()), found->floats};
  found->floats += floats;
  return room;
}

void Packets::allocate() {
  std::size_t total = 0;
  for (Peer& peer : peers_) {
    peer.begin = total;
    total += peer.floats;
  }
  numbers_ = std::make_unique_for_overwrite<float[]>(total);
}

void Packets::send(Exchange& exchange) const {
  for (const Peer& peer : peers_) exchange.send(peer.rank, std::as_bytes(message(peer)));
}

void Packets::receive(Exchange& exchange) {
  for (const Peer& peer : peers_) exchange.receive(peer.rank, std::as_writable_bytes(message(peer)));
}

}  // namespace wafer::fabric
