#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <mpi.h>

#include "mesh/mesh.hpp"

namespace wafer::fabric {

/// Memory of a rank that the other ranks of its node can read where it lies, so that blocks which visit them
/// are neither sent nor copied. Linux: a file without a name (memfd), far larger than what is used of it and
/// mapped by all ranks of the node. It needs no space in /dev/shm and ends with the ranks.
class NodeMemory {
public:
  /// Collective over `communicator`. Null for a rank that is alone on its node, or where the system does not
  /// let the ranks of a node map each other's memory; then all of them get null.
  static std::shared_ptr<NodeMemory> among(MPI_Comm communicator);

  ~NodeMemory();
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  /// `bytes` of this rank's part, at a multiple of the page, until freed; null when no gap is large enough.
  std::byte* allocate(std::size_t bytes);
  /// Pages are kept for what comes next, up to 64 MB of them, as the system clears each before it gives it
  /// out.
  void free(std::byte* memory, std::size_t bytes);

  /// Where `memory` lies in this rank's part, if it does.
  std::optional<std::size_t> offset_of(const std::byte* memory) const;
  /// Whether rank r of the communicator is another rank of this node.
  bool reaches(mesh::Rank r) const { return of_rank_[static_cast<std::size_t>(r.value)] != nullptr; }
  /// What rank r has at an offset of its part; for reading only. @pre reaches(r)
  std::byte* there(mesh::Rank r, std::size_t offset) const {
    return of_rank_[static_cast<std::size_t>(r.value)] + offset;
  }

private:
  explicit NodeMemory(std::size_t bytes) : bytes_(bytes) {}
  bool map_all(MPI_Comm communicator, MPI_Comm node);
  bool map_peer(mesh::Rank peer, const std::string& path, std::size_t number);

  std::size_t bytes_;  // of a rank's part: the same on every rank of the node
  std::byte* own_ = nullptr;
  std::vector<std::byte*> of_rank_;  // (ranks of the communicator) null: on another node, or this rank
  std::map<std::size_t, std::size_t> gaps_;  // of this rank's part: offset to bytes
  std::size_t kept_ = 0;                     // bytes that were freed and not given out again
};

/// Owns memory of a NodeMemory. Move-only.
class NodeBuffer {
public:
  NodeBuffer() : data_(nullptr, Free{}) {}
  /// Empty where `node` is null or has no gap of that size. The memory is not set.
  NodeBuffer(std::shared_ptr<NodeMemory> node, std::size_t bytes)
      : data_(node != nullptr ? node->allocate(bytes) : nullptr, Free{node, bytes}) {}

  std::byte* data() const { return data_.get(); }

private:
  struct Free {
    std::shared_ptr<NodeMemory> node;
    std::size_t bytes;
    void operator()(std::byte* memory) const { node->free(memory, bytes); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace wafer::fabric
