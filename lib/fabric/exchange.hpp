#pragma once

#include <span>
#include <vector>

#include "fabric/communicator.hpp"

namespace wafer::fabric {

/// The messages of one exchange: posted at once, non-blocking, then waited for. Messages are cut where they
/// exceed what one MPI call can count. Buffers belong to the caller and must live until wait() returns.
class Exchange {
public:
  explicit Exchange(const Communicator& communicator) : communicator_(&communicator) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  Exchange(Exchange&&) = default;
  Exchange& operator=(Exchange&&) = default;

  void send(mesh::Rank to, std::span<const std::byte> message);
  void receive(mesh::Rank from, std::span<std::byte> message);
  /// Returns when every message posted has been sent or has arrived.
  void wait();

private:
  const Communicator* communicator_;
  std::vector<MPI_Request> requests_;
};

}  // namespace wafer::fabric
