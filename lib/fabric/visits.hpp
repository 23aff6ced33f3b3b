#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "fabric/blocks.hpp"
#include "fabric/exchange.hpp"

namespace wafer::fabric {

/// A block that some core of a tile uses in a bulk, and the first and last step at which one does.
struct Use {
  Use(Index block_i, Index block_j, Index first_step, Index last_step)
      : i(static_cast<std::int32_t>(block_i)),
        j(static_cast<std::int32_t>(block_j)),
        first(static_cast<std::int32_t>(first_step)),
        last(static_cast<std::int32_t>(last_step)) {}
  std::int32_t i, j, first, last;  // a wafer has half a million of them
};

/// The uses of the blocks that go round the ring of every line: at step t, the core at place p of line k has
/// block front(p, skew(k) + t) at the front of its queue.
/// @param places, lines of the tile   @param use_of makes the Use of (line, block, first, last)
std::vector<Use> rotation_uses(
    const mesh::QueueLine& queue, mesh::Range places, mesh::Range lines,
    const std::function<Index(Index line)>& skew,
    const std::function<Use(Index line, Index block, Index first, Index last)>& use_of);

/// The visits that a bulk's operand pays to other ranks. Which core uses which block at which step is
/// geometry, so every rank knows who needs what from whom. Blocks of another rank of the node are read where
/// they lie, if they lie in NodeMemory: its rank says where, and is told when nobody reads any more. Other
/// blocks come straight from their home, in one message per pair of ranks and chunk of steps, while the chunk
/// before is computed, and leave after their last use. Small blocks are gathered first; of a large message
/// only the end travels during the computation, as gathering it whole would take as much memory again. On the
/// wafer the block passes through the cores on the way; what that costs is geometry, too.
class Visits {
public:
  using UsesOf = std::function<std::vector<Use>(const mesh::Tile& tile)>;

  /// @param uses_of the blocks that the cores of a tile use, the same list on every rank
  /// @param chunk steps per exchange   `fabric` and `operand` must outlive the visits.
  Visits(const Fabric& fabric, Blocks& operand, Index steps, Index chunk, const UsesOf& uses_of);

  /// Starts the messages of chunk k; finish(k) waits for them and lets the blocks be used. From start(0) to
  /// the last release() nobody may change the operand.
  void start(Index k);
  void finish(Index k);
  /// Lets go of the blocks that no chunk after k uses. After the last chunk no rank reads this one's blocks.
  void release(Index k);

private:
  struct Message {
    mesh::Rank peer;
    std::vector<Use> blocks;
    std::size_t begin = 0;  // in its chunk's memory, if it comes here
    std::size_t bytes = 0;
    bool in_place = false;  // read where the blocks lie: nothing is sent
    // Large blocks are sent from where they lie, one by one.
    bool apart() const { return bytes / blocks.size() >= std::size_t{1} << 16; }
  };
  // Blocks of a message that travel together.
  struct Piece {
    std::span<const Use> blocks;
    std::size_t offset = 0;  // in the message
    std::size_t bytes = 0;
    bool last = false;
  };
  struct Chunk {
    std::vector<Message> incoming;
    std::vector<Message> outgoing;
    AlignedBuffer arrived;
    std::vector<AlignedBuffer> sent;
    Index last_chunk = 0;  // the last one that uses a block of `arrived`
  };
  // What two ranks of a node let each other read, in the order of chunks and messages.
  struct Neighbour {
    mesh::Rank peer;
    std::size_t bytes = 0;
    std::vector<Message*> messages;
    std::vector<std::int64_t> places;  // of every block in its rank's NodeMemory; -1: not there
  };
  std::vector<Neighbour> neighbours(std::vector<Message> Chunk::*messages);
  void meet_neighbours();
  void part_from_neighbours();
  void add(std::vector<Message>& messages, mesh::Rank peer, const Use& use) const;
  static std::size_t lay_out(std::vector<Message>& messages);
  std::size_t bytes_of(const Use& block) const { return operand_->block_bytes(block.i, block.j); }
  std::vector<Piece> pieces_of(const Message& message) const;
  void receive(const Message& message, std::byte* memory, Exchange& at_once);
  void send(const Message& message, std::vector<AlignedBuffer>& sent);

  const Communicator* communicator_;
  Blocks* operand_;
  Index chunk_;
  std::vector<Chunk> chunks_;
  std::vector<Neighbour> lenders_;  // whose blocks are read in place
  std::vector<Neighbour> readers_;  // who reads blocks of this rank in place
  Exchange exchange_;
};

}  // namespace wafer::fabric
