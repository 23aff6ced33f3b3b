#include "fabric/fabric.hpp"

#include <utility>

#include "core/error.hpp"

namespace wafer::fabric {

Fabric::Fabric(const Communicator& communicator, mesh::Tiling tiling, int threads)
    : communicator_(&communicator),
      tiling_(std::move(tiling)),
      tile_(tiling_.tile(communicator.rank())),
      threads_(threads),
      queues_(tiling_.mesh()) {
  WAFER_CHECK(tiling_.ranks() == communicator.size(), "one tile a rank");
  WAFER_CHECK(threads >= 1, "at least one thread");
}

}  // namespace wafer::fabric
