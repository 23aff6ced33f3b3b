#include "fabric/visits.hpp"

#include <algorithm>
#include <cstring>

namespace wafer::fabric {

using mesh::Rank;

namespace {

constexpr std::size_t most_gathered = std::size_t{8} << 20;  // bytes of small blocks that travel together

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

std::size_t Visits::lay_out(std::vector<Message>& messages) {
  std::size_t bytes = 0;
  for (Message& message : messages) {
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
  Chunk& chunk = chunks_[at(k)];
  chunk.arrived = AlignedBuffer(lay_out(chunk.incoming), false);
  Exchange at_once(*communicator_);  // what the peers wait to have sent
  for (const Message& message : chunk.incoming)
    receive(message, chunk.arrived.data() + message.begin, at_once);
  for (const Message& message : chunk.outgoing) send(message, chunk.sent);
  at_once.wait();
}

void Visits::finish(Index k) {
  Chunk& chunk = chunks_[at(k)];
  exchange_.wait();
  chunk.sent.clear();
  chunk.last_chunk = k;
  for (const Message& message : chunk.incoming) {
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
      for (const Use& block : message.blocks) operand_->dismiss(block.i, block.j);
    chunk.arrived = AlignedBuffer();
  }
}

}  // namespace wafer::fabric
