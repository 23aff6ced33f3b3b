#pragma once

#include <exception>

#include "fabric/communicator.hpp"
#include "mesh/queue.hpp"
#include "mesh/tiling.hpp"
#include "plmr/execution.hpp"

namespace wafer::fabric {

/// The emulated wafer as one rank sees it: the mesh, how it is tiled over the ranks, and the tile that this
/// rank emulates. Operators describe what every core does; the fabric executes it. `communicator` must
/// outlive the fabric.
class Fabric {
public:
  /// @param threads that the cores of the tile are spread over; changes no result.
  /// @param execution keeps the virtual time of all cores of the mesh; null: nobody does. Must outlive this.
  /// @param dry  no rank emulates a core: operators only advance the execution, on shapes without storage.
  Fabric(const Communicator& communicator, mesh::Tiling tiling, int threads = 1,
         plmr::Execution* execution = nullptr, bool dry = false);

  const Communicator& communicator() const { return *communicator_; }
  const mesh::Tiling& tiling() const { return tiling_; }
  mesh::Mesh mesh() const { return tiling_.mesh(); }
  const mesh::Tile& tile() const { return tile_; }
  mesh::Rank rank() const { return communicator_->rank(); }
  int threads() const { return threads_; }
  /// Whom movements and arithmetic are charged to; null: nobody, or what they cost is known already.
  plmr::Execution* execution() const {
    return execution_ != nullptr && !execution_->replaying() ? execution_ : nullptr;
  }
  /// Who counts the memory of the wafer's cores; null: nobody.
  plmr::Execution* memory() const { return execution_; }
  bool dry() const { return dry_; }
  /// The same with one thread, for loops that share what they write.
  Fabric without_threads() const { return {*communicator_, tiling_, 1, execution_, dry_}; }
  /// The same, but nothing is charged.
  Fabric without_execution() const { return {*communicator_, tiling_, threads_}; }
  /// The queues of the whole mesh.
  const mesh::QueuePlan& queues() const { return queues_; }

  /// Calls f(i) for 0 <= i < n, spread over the threads. Calls must be independent of each other. The first
  /// exception is thrown again when all calls are done.
  template <class F>
  void parallel(Index n, F f) const;

  /// Charges ticks_of(cost, core) of computation to every core of the mesh.
  template <class F>
  void charge(F ticks_of) const {
    plmr::Execution* const charged = execution();
    if (charged == nullptr) return;
    const plmr::Cost& cost = charged->cost();
    charged->compute([&](Index y, Index x) { return ticks_of(cost, mesh::CoreCoord{y, x}); });
  }
  /// Charges an operator's entry to every core.
  void enter() const {
    if (execution() != nullptr) execution()->enter();
  }

  /// Calls f(core) for every core of this rank's tile, spread over the threads.
  template <class F>
  void for_cores(F f) const {
    const Index width = tile_.columns.size();
    parallel(tile_.cores(), [&](Index k) {
      f(mesh::CoreCoord{tile_.rows.begin + k / width, tile_.columns.begin + k % width});
    });
  }

private:
  const Communicator* communicator_;
  mesh::Tiling tiling_;
  mesh::Tile tile_;
  int threads_;
  mesh::QueuePlan queues_;
  plmr::Execution* execution_;
  bool dry_;
};

template <class F>
void Fabric::parallel(Index n, F f) const {
  if (threads_ == 1 || n < 2) {
    for (Index i = 0; i < n; ++i) f(i);
    return;
  }
  std::exception_ptr failure;  // an exception must not leave the parallel region
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
  for (Index i = 0; i < n; ++i) {
    try {
      f(i);
    } catch (...) {
#pragma omp critical
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace wafer::fabric
