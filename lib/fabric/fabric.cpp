#include "fabric/fabric.hpp"

#include <utility>

#include "core/error.hpp"

namespace wafer::fabric {

Fabric::Fabric(const Communicator& communicator, mesh::Tiling tiling, int threads, plmr::Execution* execution,
               bool dry)
    : communicator_(&communicator),
      tiling_(std::move(tiling)),
      tile_(dry ? mesh::Tile{} : tiling_.tile(communicator.rank())),
      threads_(threads),
      queues_(tiling_.mesh()),
      execution_(execution),
      dry_(dry) {
  WAFER_CHECK(!dry || execution != nullptr, "a dry fabric has nothing but virtual time");
  WAFER_CHECK(execution == nullptr || execution->mesh() == tiling_.mesh(), "an execution of this mesh");
  WAFER_CHECK(tiling_.ranks() == communicator.size(), "one tile a rank");
  WAFER_CHECK(threads >= 1, "at least one thread");
}

}  // namespace wafer::fabric
