#include "fabric/visits.hpp"

#include <algorithm>
#include <cstring>

namespace wafer::fabric {

using mesh::Rank;

namespace {

constexpr std::size_t most_gathered = std::size_t{8} << 20;  // bytes of small blocks that travel together
constexpr std::size_t least_in_place = std::size_t{64}
                                       << 10;  // bytes between two ranks that are worth asking

}  // namespace

std::vector<Use> rotation_uses(
    const mesh::QueueLine& queue, mesh::Range places, mesh::Range lines,
    const std::function<Index(Index line)>& skew,
    const std::function<Use(Index line, Index block, Index first, Index last)>& use_of) {
  std::vector<Use> uses;
  if (places.size() == 0) return uses;
  const Index blocks = queue.blocks();
  std::vector<Index> first(at(blocks), blocks);  // of block b on a line that is not skewed
  std::vector<Index> last(at(blocks), 0);
  for (Index place = places.begin; place < places.end; ++place)
    for (Index block = 0; block < blocks; ++block) {
      const Index step = wrap(block - queue.first_slot(place), blocks);
      first[at(block)] = std::min(first[at(block)], step);
      last[at(block)] = std::max(last[at(block)], step);
    }
  uses.reserve(at(lines.size() * blocks));
  for (Index line = lines.begin; line < lines.end; ++line)
    for (Index block = 0; block < blocks; ++block) {
      const std::size_t unskewed = at(wrap(block - skew(line), blocks));
      uses.push_back(use_of(line, block, first[unskewed], last[unskewed]));
    }
  return uses;
}

Visits::Visits(const Fabric& fabric, Blocks& operand, Index steps, Index chunk, const UsesOf& uses_of)
    : communicator_(&fabric.communicator()),
      operand_(&operand),
      chunk_(chunk),
      chunks_(at((steps + chunk - 1) / chunk)),
      exchange_(fabric.communicator()) {
  const mesh::Tiling& tiling = fabric.tiling();
  const Placement& placement = operand.placement();
  const Rank me = fabric.rank();
  for (int r = 0; tiling.ranks() > 1 && !fabric.dry() && r < tiling.ranks(); ++r) {
    const Rank guest_of{r};
    const mesh::Tile tile = tiling.tile(guest_of);
    for (const Use& use : uses_of(tile)) {
      if (placement.lies_in(tile, use.i, use.j)) continue;
      const Rank home = tiling.rank_of(placement.home(use.i, use.j));
      Chunk& at_first = chunks_[at(use.first / chunk)];
      if (guest_of == me)
        add(at_first.incoming, home, use);
      else if (home == me)
        add(at_first.outgoing, guest_of, use);
    }
  }
}

void Visits::add(std::vector<Message>& messages, Rank peer, const Use& use) const {
  if (operand_->block_bytes(use.i, use.j) == 0) return;  // a block without elements needs no message
  auto message =
      std::find_if(messages.begin(), messages.end(), [&](const Message& m) { return m.peer == peer; });
  if (message == messages.end()) message = messages.insert(messages.end(), Message{peer, {}, 0, 0});
  message->blocks.push_back(use);
  message->bytes += aligned(operand_->block_bytes(use.i, use.j));
}

// The ranks of this node with at least so much to read, and their messages.
std::vector<Visits::Neighbour> Visits::neighbours(std::vector<Message> Chunk::*messages) {
  std::vector<Neighbour> found;
  const NodeMemory* const node = communicator_->node().get();
  if (node == nullptr) return found;
  for (Chunk& chunk : chunks_)
    for (Message& message : chunk.*messages) {
      message.in_place = false;
      if (!node->reaches(message.peer)) continue;
      auto with = std::find_if(found.begin(), found.end(),
                               [&](const Neighbour& n) { return n.peer == message.peer; });
      if (with == found.end()) with = found.insert(found.end(), Neighbour{message.peer, 0, {}, {}});
      with->bytes += message.bytes;
      with->messages.push_back(&message);
    }
  std::erase_if(found, [](const Neighbour& n) { return n.bytes < least_in_place; });
  return found;
}

// Every rank says where its blocks lie, for those that its neighbours will use.
void Visits::meet_neighbours() {
  lenders_ = neighbours(&Chunk::incoming);
  readers_ = neighbours(&Chunk::outgoing);
  const auto of_all_blocks = [](Neighbour& neighbour, auto place_of) {
    for (const Message* message : neighbour.messages)
      for (const Use& block : message->blocks) neighbour.places.push_back(place_of(block));
  };
  const auto& node = communicator_->node();
  Exchange places(*communicator_);
  for (Neighbour& lender : lenders_) {
    of_all_blocks(lender, [](const Use&) { return std::int64_t{-1}; });
    places.receive(lender.peer, std::as_writable_bytes(std::span(lender.places)));
  }
  for (Neighbour& reader : readers_) {
    of_all_blocks(reader, [&](const Use& block) {
      const auto place = node->offset_of(operand_->raw(block.i, block.j));
      return place ? static_cast<std::int64_t>(*place) : std::int64_t{-1};
    });
    places.send(reader.peer, std::as_bytes(std::span(reader.places)));
  }
  places.wait();
  const auto somewhere_else = [](const Neighbour& neighbour) {
    return std::find(neighbour.places.begin(), neighbour.places.end(), -1) != neighbour.places.end();
  };
  std::erase_if(lenders_, somewhere_else);  // both ranks know: they fall back to messages
  std::erase_if(readers_, somewhere_else);
  for (Neighbour& reader : readers_)
    for (Message* message : reader.messages) message->in_place = true;
  for (Neighbour& lender : lenders_) {
    auto place = lender.places.begin();
    for (Message* message : lender.messages) {
      message->in_place = true;
      for (const Use& block : message->blocks)
        operand_->admit(block.i, block.j, node->there(lender.peer, static_cast<std::size_t>(*place++)));
    }
    lender.places = {};
  }
}

void Visits::part_from_neighbours() {
  Exchange parting(*communicator_);
  std::vector<std::byte> received(readers_.size());
  const std::byte sent{};
  for (std::size_t r = 0; r < readers_.size(); ++r) parting.receive(readers_[r].peer, {&received[r], 1});
  for (const Neighbour& lender : lenders_) {
    parting.send(lender.peer, {&sent, 1});
    for (const Message* message : lender.messages)
      for (const Use& block : message->blocks) operand_->dismiss(block.i, block.j);
  }
  parting.wait();
}

std::size_t Visits::lay_out(std::vector<Message>& messages) {
  std::size_t bytes = 0;
  for (Message& message : messages) {
    if (message.in_place) continue;
    message.begin = bytes;
    bytes += message.bytes;
  }
  return bytes;
}

// Both ranks cut a message in the same way.
std::vector<Visits::Piece> Visits::pieces_of(const Message& message) const {
  const std::span all(message.blocks);
  std::vector<Piece> pieces;
  std::size_t first = 0, offset = 0, bytes = 0;
  const auto close = [&](std::size_t end) {
    const std::size_t sent = message.apart() ? bytes_of(all[first]) : bytes;
    pieces.push_back({all.subspan(first, end - first), offset, sent, end == all.size()});
    first = end;
    offset += bytes;
    bytes = 0;
  };
  for (std::size_t b = 0; b < all.size(); ++b) {
    const std::size_t more = aligned(bytes_of(all[b]));
    if (bytes > 0 && (message.apart() || bytes + more > most_gathered)) close(b);
    bytes += more;
  }
  close(all.size());
  return pieces;
}

void Visits::receive(const Message& message, std::byte* memory, Exchange& at_once) {
  for (const Piece& piece : pieces_of(message)) {
    Exchange& exchange = piece.last || message.apart() ? exchange_ : at_once;
    exchange.receive(message.peer, {memory + piece.offset, piece.bytes});
  }
}

void Visits::send(const Message& message, std::vector<AlignedBuffer>& sent) {
  for (const Piece& piece : pieces_of(message)) {
    if (message.apart()) {
      exchange_.send(message.peer, {operand_->raw(piece.blocks[0].i, piece.blocks[0].j), piece.bytes});
      continue;
    }
    AlignedBuffer gathered(piece.bytes);  // zeroed: the gaps between blocks are sent, too
    std::byte* to = gathered.data();
    for (const Use& block : piece.blocks) {
      std::memcpy(to, operand_->raw(block.i, block.j), bytes_of(block));
      to += aligned(bytes_of(block));
    }
    const std::span<const std::byte> all(gathered.data(), piece.bytes);
    if (piece.last) {
      exchange_.send(message.peer, all);
      sent.push_back(std::move(gathered));
    } else {  // the peer, which does the same, has posted where this goes before it sends anything
      Exchange now(*communicator_);
      now.send(message.peer, all);
      now.wait();
    }
  }
}

void Visits::start(Index k) {
  if (k == 0) meet_neighbours();
  Chunk& chunk = chunks_[at(k)];
  chunk.arrived = AlignedBuffer(lay_out(chunk.incoming), false);
  Exchange at_once(*communicator_);  // what the peers wait to have sent
  for (const Message& message : chunk.incoming)
    if (!message.in_place) receive(message, chunk.arrived.data() + message.begin, at_once);
  for (const Message& message : chunk.outgoing)
    if (!message.in_place) send(message, chunk.sent);
  at_once.wait();
}

void Visits::finish(Index k) {
  Chunk& chunk = chunks_[at(k)];
  exchange_.wait();
  chunk.sent.clear();
  chunk.last_chunk = k;
  for (const Message& message : chunk.incoming) {
    if (message.in_place) continue;
    std::byte* memory = chunk.arrived.data() + message.begin;
    for (const Use& block : message.blocks) {
      operand_->admit(block.i, block.j, memory);
      memory += aligned(bytes_of(block));
      chunk.last_chunk = std::max(chunk.last_chunk, block.last / chunk_);
    }
  }
}

void Visits::release(Index k) {
  for (Chunk& chunk : std::span(chunks_).first(at(k) + 1)) {
    if (chunk.last_chunk > k || chunk.arrived.bytes() == 0) continue;
    for (const Message& message : chunk.incoming)
      for (const Use& block : message.blocks)
        if (!message.in_place) operand_->dismiss(block.i, block.j);
    chunk.arrived = AlignedBuffer();
  }
  if (at(k) + 1 == chunks_.size()) part_from_neighbours();
}

}  // namespace wafer::fabric
