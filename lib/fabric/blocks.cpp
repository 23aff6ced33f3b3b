#include "fabric/blocks.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace wafer::fabric {

namespace {

constexpr std::size_t least_shared = std::size_t{64} << 10;  // bytes that are worth whole pages

}  // namespace

Blocks::Blocks(const Fabric& fabric, Placement placement, DType type, std::optional<plmr::Memory> memory,
               bool zeroed)
    : placement_(std::move(placement)), type_(type) {
  if (memory) lease_ = Lease(fabric, placement_, *memory);
  if (fabric.dry()) return;
  const Index row_parts = placement_.rows().parts();
  const Index col_parts = placement_.cols().parts();
  address_.assign(at(row_parts * col_parts), nullptr);
  // Weights that stay at home: read faster from the processor's huge pages, which shared memory rarely has,
  // and in the order in which a GEMV comes by them, all blocks of one part of the result after each other.
  const bool stays = memory == plmr::Memory::weights && !placement_.queued();
  const auto for_each_local = [&](auto visit) {
    for (Index k = 0; k < row_parts * col_parts; ++k) {
      const Index i = stays ? k % row_parts : k / col_parts;
      const Index j = stays ? k / row_parts : k % col_parts;
      if (placement_.lies_in(fabric.tile(), i, j)) visit(i, j);
    }
  };
  for_each_local([&](Index i, Index j) { bytes_ += aligned(block_bytes(i, j)); });
  if (bytes_ >= least_shared && !stays) shared_ = NodeBuffer(fabric.communicator().node(), bytes_);
  std::byte* next = shared_.data();
  if (next == nullptr) {
    slab_ = AlignedBuffer(std::max(bytes_, std::size_t{1}), zeroed);
    next = slab_.data();
  } else if (zeroed) {
    std::memset(next, 0, bytes_);
  }
  point_at_nothing(next);
  for_each_local([&](Index i, Index j) {
    address_[slot(i, j)] = next;
    next += aligned(block_bytes(i, j));
  });
}

Blocks Blocks::unfilled(const Fabric& fabric, Placement placement, DType type) {
  Blocks blocks;
  blocks.placement_ = std::move(placement);
  blocks.type_ = type;
  if (fabric.dry()) return blocks;
  blocks.address_.assign(at(blocks.placement_.rows().parts() * blocks.placement_.cols().parts()), nullptr);
  blocks.slab_ = AlignedBuffer(1);
  blocks.point_at_nothing(blocks.slab_.data());
  return blocks;
}

// Blocks without elements are everywhere: they need not be sent.
void Blocks::point_at_nothing(std::byte* somewhere) {
  for (Index i = 0; i < placement_.rows().parts(); ++i)
    for (Index j = 0; j < placement_.cols().parts(); ++j)
      if (block_bytes(i, j) == 0) address_[slot(i, j)] = somewhere;
}

}  // namespace wafer::fabric
