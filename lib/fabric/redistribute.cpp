#include "fabric/redistribute.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "core/error.hpp"
#include "fabric/exchange.hpp"
#include "plmr/transfer.hpp"

namespace wafer::fabric {

using mesh::Rank;

namespace {

// The indices that a part of one partition has in common with a part of another, as places in both.
struct Overlap {
  Index part = 0;           // of the destination
  std::vector<Index> from;  // places in the source's part
  std::vector<Index> to;    // places in the destination's part
};

std::vector<Overlap> overlaps(const Partition& from, Index part, const Partition& to) {
  std::map<Index, Overlap> by_part;
  const auto indices = from.indices(part);
  for (std::size_t place = 0; place < indices.size(); ++place) {
    Overlap& overlap = by_part[to.part_of(indices[place])];
    overlap.part = to.part_of(indices[place]);
    overlap.from.push_back(static_cast<Index>(place));
    overlap.to.push_back(to.place_of(indices[place]));
  }
  std::vector<Overlap> all;
  all.reserve(by_part.size());
  for (auto& entry : by_part) all.push_back(std::move(entry.second));
  return all;
}

std::vector<std::vector<Overlap>> all_overlaps(const Partition& from, const Partition& to) {
  std::vector<std::vector<Overlap>> all;
  all.reserve(at(from.parts()));
  for (Index part = 0; part < from.parts(); ++part) all.push_back(overlaps(from, part, to));
  return all;
}

// A rectangle of elements that goes from one block to one other.
struct Piece {
  Index i, j;  // the source's block
  const Overlap* rows;
  const Overlap* cols;
  std::size_t elements() const { return rows->from.size() * cols->from.size(); }
};

class Move {
public:
  Move(const Fabric& from_fabric, const Blocks& from, const Fabric& to_fabric, Blocks& to)
      : from_fabric_(from_fabric),
        from_(from),
        to_fabric_(to_fabric),
        to_(to),
        rows_(all_overlaps(from.placement().rows(), to.placement().rows())),
        cols_(all_overlaps(from.placement().cols(), to.placement().cols())) {}

  // What the wafer's links carry. A copied block goes to the first core of its line, then along it.
  void charge() const {
    plmr::Execution& execution = *to_fabric_.execution();
    plmr::Transfer transfer(execution, from_fabric_.mesh());
    const auto copied = to_.placement().copied_along();
    for (Index i = 0; i < from_.placement().rows().parts(); ++i)
      for (Index j = 0; j < from_.placement().cols().parts(); ++j) {
        const mesh::CoreCoord home = from_.placement().home(i, j);
        for (const Overlap& rows : rows_[at(i)])
          for (const Overlap& cols : cols_[at(j)]) {
            const auto elements = static_cast<Index>(Piece{i, j, &rows, &cols}.elements());
            transfer.send(home, to_.placement().home(rows.part, cols.part),
                          execution.cost().shift_words(elements));
          }
      }
    for (Index i = 0; copied && i < to_.placement().rows().parts(); ++i)
      for (Index j = 0; j < to_.placement().cols().parts(); ++j)
        transfer.spread(*copied, mesh::line_of(*copied, to_.placement().home(i, j)),
                        execution.cost().shift_words(to_.shape(i, j).size()));
    transfer.finish();
  }

  void run() {
    const Rank me = from_fabric_.rank();
    const int ranks = from_fabric_.communicator().size();
    std::map<Rank, std::vector<std::byte>> outgoing, incoming;
    Exchange exchange(from_fabric_.communicator());
    for (int r = 0; r < ranks; ++r) {
      if (Rank{r} == me) continue;
      std::size_t bytes = 0;
      for_each_piece(Rank{r}, me,
                     [&](const Piece& piece) { bytes += piece.elements() * size_of(from_.type()); });
      if (bytes == 0) continue;
      incoming[Rank{r}].resize(bytes);
      exchange.receive(Rank{r}, incoming[Rank{r}]);
    }
    for (int r = 0; r < ranks; ++r) {
      if (Rank{r} == me) continue;
      auto& message = outgoing[Rank{r}];
      for_each_piece(me, Rank{r}, [&](const Piece& piece) { pack(piece, message); });
      if (!message.empty()) exchange.send(Rank{r}, message);
    }
    std::vector<std::byte> own;
    for_each_piece(me, me, [&](const Piece& piece) {
      own.clear();
      pack(piece, own);
      unpack(piece, own.data());
    });
    exchange.wait();
    for (auto& [peer, message] : incoming) {
      const std::byte* next = message.data();
      for_each_piece(peer, me, [&](const Piece& piece) { next = unpack(piece, next); });
    }
  }

private:
  Rank owner(Index i, Index j) const { return from_fabric_.tiling().rank_of(from_.placement().home(i, j)); }

  // The pieces that one rank sends to another, in an order that both know.
  template <class Visit>
  void for_each_piece(Rank sender, Rank receiver, Visit visit) const {
    const mesh::Tile tile = to_fabric_.tiling().tile(receiver);
    if (tile.cores() == 0) return;
    for (Index i = 0; i < from_.placement().rows().parts(); ++i)
      for (Index j = 0; j < from_.placement().cols().parts(); ++j) {
        if (owner(i, j) != sender) continue;
        for (const Overlap& rows : rows_[at(i)])
          for (const Overlap& cols : cols_[at(j)])
            if (to_.placement().lies_in(tile, rows.part, cols.part)) visit(Piece{i, j, &rows, &cols});
      }
  }

  void pack(const Piece& piece, std::vector<std::byte>& message) const {
    const std::size_t size = size_of(from_.type());
    const std::size_t stride = at(from_.shape(piece.i, piece.j).cols) * size;
    const std::byte* block = from_.raw(piece.i, piece.j);
    std::size_t next = message.size();
    message.resize(next + piece.elements() * size);
    for (const Index row : piece.rows->from)
      for (const Index col : piece.cols->from) {
        std::memcpy(message.data() + next, block + at(row) * stride + at(col) * size, size);
        next += size;
      }
  }

  const std::byte* unpack(const Piece& piece, const std::byte* message) {
    const std::size_t size = size_of(to_.type());
    const std::size_t stride = at(to_.shape(piece.rows->part, piece.cols->part).cols) * size;
    std::byte* block = to_.raw(piece.rows->part, piece.cols->part);
    for (const Index row : piece.rows->to)
      for (const Index col : piece.cols->to) {
        std::memcpy(block + at(row) * stride + at(col) * size, message, size);
        message += size;
      }
    return message;
  }

  const Fabric& from_fabric_;
  const Blocks& from_;
  const Fabric& to_fabric_;
  Blocks& to_;
  std::vector<std::vector<Overlap>> rows_;  // (source row parts)
  std::vector<std::vector<Overlap>> cols_;  // (source column parts)
};

}  // namespace

void redistribute(const Fabric& from_fabric, const Blocks& from, const Fabric& to_fabric, Blocks& to) {
  WAFER_CHECK(from.placement().shape() == to.placement().shape() && from.type() == to.type(),
              "a redistribution changes neither shape nor type");
  Move move(from_fabric, from, to_fabric, to);
  if (to_fabric.execution() != nullptr) move.charge();
  if (!to_fabric.dry()) move.run();
}

std::vector<float> gather(const Fabric& fabric, const Blocks& matrix) {
  if (fabric.dry()) return {};
  const Fabric uncharged = fabric.without_execution();
  Blocks whole(uncharged, Placement::on_first_core(matrix.placement().shape()));
  redistribute(uncharged, matrix, uncharged, whole);
  if (!whole.here(0, 0)) return {};
  const auto view = whole(0, 0);
  return {view.data(), view.data() + view.shape().size()};
}

void scatter(const Fabric& fabric, std::span<const float> whole, Blocks& matrix) {
  if (fabric.dry()) return;
  const Fabric uncharged = fabric.without_execution();
  Blocks host(uncharged, Placement::on_first_core(matrix.placement().shape()));
  if (host.here(0, 0)) std::copy(whole.begin(), whole.end(), host(0, 0).data());
  redistribute(uncharged, host, uncharged, matrix);
}

}  // namespace wafer::fabric
