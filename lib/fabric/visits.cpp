#include "fabric/visits.hpp"

#include <algorithm>
#include <cstring>

namespace wafer::fabric {

using mesh::Rank;

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
    : operand_(&operand),
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
  message->blocks.push_back({use, message->bytes});
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

void Visits::start(Index k) {
  Chunk& chunk = chunks_[at(k)];
  std::size_t gathered = 0;
  for (Message& message : chunk.outgoing) {
    message.begin = gathered;
    if (!message.apart()) gathered += message.bytes;
  }
  chunk.arrived = AlignedBuffer(lay_out(chunk.incoming), false);
  chunk.sent = AlignedBuffer(gathered);  // zeroed: the gaps between blocks are sent, too
  const auto bytes_of = [this](const Guest& block) {
    return operand_->block_bytes(block.use.i, block.use.j);
  };
  for (const Message& message : chunk.incoming) {
    std::byte* const memory = chunk.arrived.data() + message.begin;
    if (!message.apart())
      exchange_.receive(message.peer, {memory, message.bytes});
    else
      for (const Guest& block : message.blocks)
        exchange_.receive(message.peer, {memory + block.offset, bytes_of(block)});
  }
  for (const Message& message : chunk.outgoing) {
    std::byte* const memory = chunk.sent.data() + message.begin;
    for (const Guest& block : message.blocks) {
      const std::byte* const from = operand_->raw(block.use.i, block.use.j);
      if (message.apart())
        exchange_.send(message.peer, {from, bytes_of(block)});
      else
        std::memcpy(memory + block.offset, from, bytes_of(block));
    }
    if (!message.apart()) exchange_.send(message.peer, {memory, message.bytes});
  }
}

void Visits::finish(Index k) {
  Chunk& chunk = chunks_[at(k)];
  exchange_.wait();
  chunk.sent = AlignedBuffer();
  chunk.last_chunk = k;
  for (const Message& message : chunk.incoming)
    for (const Guest& block : message.blocks) {
      operand_->admit(block.use.i, block.use.j, chunk.arrived.data() + message.begin + block.offset);
      chunk.last_chunk = std::max(chunk.last_chunk, block.use.last / chunk_);
    }
}

void Visits::release(Index k) {
  for (Chunk& chunk : std::span(chunks_).first(at(k) + 1)) {
    if (chunk.last_chunk > k || chunk.arrived.bytes() == 0) continue;
    for (const Message& message : chunk.incoming)
      for (const Guest& block : message.blocks) operand_->dismiss(block.use.i, block.use.j);
    chunk.arrived = AlignedBuffer();
  }
}

}  // namespace wafer::fabric
