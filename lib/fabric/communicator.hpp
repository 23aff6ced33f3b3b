#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include <mpi.h>

#include "fabric/node_memory.hpp"
#include "mesh/mesh.hpp"

namespace wafer::fabric {

/// An MPI call returned something other than MPI_SUCCESS. what() holds the call and MPI's own text.
struct MpiError : std::runtime_error {
  MpiError(const char* call, int error);
  int code;
};

/// MPI for the life of the object, with MPI errors thrown as MpiError instead of ending the program.
///
/// Lives in main(), outside its try block: an error there ends in abort(), never in MPI_Finalize, which would
/// wait for ranks that did not fail.
class Session {
public:
  Session(int& argc, char**& argv);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
};

/// Owns an MPI communicator; freed on destruction unless it is MPI_COMM_WORLD. MPI's own reductions are for
/// checks, maxima and counts: no tensor value is ever summed by them, since their order is MPI's business.
class Communicator {
public:
  static Communicator world();  ///< non-owning; collective

  Communicator(Communicator&& other) noexcept;
  Communicator& operator=(Communicator&& other) noexcept;
  ~Communicator();

  mesh::Rank rank() const { return rank_; }
  int size() const { return size_; }
  bool is_root() const { return rank_.value == 0; }
  MPI_Comm get() const { return comm_; }
  /// Memory that the ranks of this rank's node can read; null: there is none.
  const std::shared_ptr<NodeMemory>& node() const { return node_; }

  /// Collective. Ranks with equal `color` form a new communicator, ordered by `key`.
  Communicator split(int color, int key) const;

  /// Collective. Every rank gets the result.
  std::int64_t max(std::int64_t value) const;
  std::int64_t min(std::int64_t value) const;
  std::int64_t sum(std::int64_t value) const;
  double max(double value) const;
  /// Collective. Element by element, in place, over all ranks. For checks in double only.
  void sum(std::span<double> values) const;

  /// Collective. The text of rank `from` on every rank.
  std::string broadcast(const std::string& text, mesh::Rank from) const;
  std::int64_t broadcast(std::int64_t value, mesh::Rank from) const;

  /// Collective. Waits asleep, so that ranks with work have the CPUs to themselves.
  void barrier() const;

private:
  Communicator(MPI_Comm comm, bool owned);
  std::int64_t all_reduce(std::int64_t value, MPI_Op operation) const;
  MPI_Comm comm_ = MPI_COMM_NULL;
  bool owned_ = false;
  mesh::Rank rank_;
  int size_ = 1;
  std::shared_ptr<NodeMemory> node_;
};

/// Throws MpiError when an MPI call failed.
void check_mpi(int code, const char* call);

/// Ends every rank with `exit_code`. For main() and nothing else.
[[noreturn]] void abort(int exit_code);

}  // namespace wafer::fabric
