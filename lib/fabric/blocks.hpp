#pragma once

#include <vector>

#include "fabric/fabric.hpp"
#include "fabric/lease.hpp"
#include "fabric/node_memory.hpp"
#include "tensor/aligned_buffer.hpp"
#include "tensor/typed_view.hpp"

namespace wafer::fabric {

/// A matrix on the mesh: the blocks that lie in this rank's tile, in one slab, zero at first; and, during a
/// bulk, blocks that visit from other ranks. Every block begins aligned and has no gaps, so a kernel meets
/// the same memory layout on every tiling. A large slab lies in the node's memory, where other ranks can read
/// it. Move-only.
class Blocks {
public:
  Blocks() = default;
  /// @param memory what the blocks count as in the memory of the wafer's cores; without: a view that the
  /// wafer does not have twice
  Blocks(const Fabric& fabric, Placement placement, DType type = DType::f32,
         std::optional<plmr::Memory> memory = plmr::Memory::buffers, bool zeroed = true);

  /// Float32 blocks whose elements are not set: the caller writes all that are ever read.
  static Blocks to_write(const Fabric& fabric, Placement placement,
                         std::optional<plmr::Memory> memory = plmr::Memory::buffers) {
    return {fabric, std::move(placement), DType::f32, memory, false};
  }

  /// Without memory: all its blocks are the caller's to admit(), but for those without elements.
  static Blocks unfilled(const Fabric& fabric, Placement placement, DType type);

  const Placement& placement() const { return placement_; }
  DType type() const { return type_; }
  Shape shape(Index i, Index j) const { return placement_.block_shape(i, j); }
  std::size_t block_bytes(Index i, Index j) const {
    return static_cast<std::size_t>(shape(i, j).size()) * size_of(type_);
  }

  /// Whether block (i, j) can be used on this rank: it lies here, or visits, or has no elements.
  bool here(Index i, Index j) const { return !address_.empty() && address_[slot(i, j)] != nullptr; }

  /// Block (i, j), stored as float32. @pre here(i, j)
  MatrixView<float> operator()(Index i, Index j) { return {as_f32(i, j), shape(i, j)}; }
  MatrixView<const float> operator()(Index i, Index j) const { return {as_f32(i, j), shape(i, j)}; }
  /// Block (i, j) of a vector: its only row.
  std::span<float> vector(Index j) { return (*this)(0, j).row(0); }
  std::span<const float> vector(Index j) const { return (*this)(0, j).row(0); }
  /// Block (i, j) as stored. @pre here(i, j)
  TypedView typed(Index i, Index j) const { return {type_, raw(i, j), shape(i, j)}; }
  std::byte* raw(Index i, Index j) const {
    assert(here(i, j));
    return address_[slot(i, j)];
  }

  /// Block (i, j), or null where it is not here.
  const std::byte* raw_or_null(Index i, Index j) const { return address_[slot(i, j)]; }

  /// Bytes of the blocks that lie on this rank.
  std::size_t bytes() const { return bytes_; }

  /// Lets block (i, j) be used from memory of the caller's, until dismiss(). For visits only.
  void admit(Index i, Index j, std::byte* memory) { address_[slot(i, j)] = memory; }
  void dismiss(Index i, Index j) { address_[slot(i, j)] = nullptr; }

private:
  void point_at_nothing(std::byte* somewhere);
  std::size_t slot(Index i, Index j) const { return at(i * placement_.cols().parts() + j); }
  float* as_f32(Index i, Index j) const {
    assert(type_ == DType::f32);
    return reinterpret_cast<float*>(raw(i, j));
  }

  Placement placement_;
  DType type_ = DType::f32;
  std::size_t bytes_ = 0;
  AlignedBuffer slab_;
  NodeBuffer shared_;                // instead of slab_
  std::vector<std::byte*> address_;  // (row parts, column parts) null: not here; empty on a dry fabric
  Lease lease_;
};

}  // namespace wafer::fabric
