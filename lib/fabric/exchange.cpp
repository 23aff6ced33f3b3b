#include "fabric/exchange.hpp"

#include <algorithm>

namespace wafer::fabric {

namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 30;  // of one message: MPI counts in int
constexpr int tag = 1;  // messages of a pair of ranks arrive in the order in which they were sent

// Calls post(offset, count) for each cut of a message.
template <class Post>
void cut(std::size_t bytes, Post post) {
  for (std::size_t offset = 0; offset < bytes; offset += most_bytes)
    post(offset, static_cast<int>(std::min(most_bytes, bytes - offset)));
}

}  // namespace

void Exchange::send(mesh::Rank to, std::span<const std::byte> message) {
  cut(message.size(), [&](std::size_t offset, int count) {
    requests_.push_back(MPI_REQUEST_NULL);
    check_mpi(MPI_Isend(message.data() + offset, count, MPI_BYTE, to.value, tag, communicator_->get(),
                        &requests_.back()),
              "MPI_Isend");
  });
}

void Exchange::receive(mesh::Rank from, std::span<std::byte> message) {
  cut(message.size(), [&](std::size_t offset, int count) {
    requests_.push_back(MPI_REQUEST_NULL);
    check_mpi(MPI_Irecv(message.data() + offset, count, MPI_BYTE, from.value, tag, communicator_->get(),
                        &requests_.back()),
              "MPI_Irecv");
  });
}

void Exchange::wait() {
  if (requests_.empty()) return;
  check_mpi(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
            "MPI_Waitall");
  requests_.clear();
}

}  // namespace wafer::fabric
