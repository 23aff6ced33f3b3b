#pragma once

#include "fabric/fabric.hpp"
#include "fabric/placement.hpp"

namespace wafer::fabric {

/// Bytes in the memory of the wafer's cores for as long as this lives; nothing without an execution.
/// Move-only.
class Lease {
public:
  Lease() = default;
  /// The blocks of a matrix, at the execution's bytes an element; copies count on every core that has one.
  Lease(const Fabric& fabric, const Placement& placement, plmr::Memory kind);
  /// bytes_of(core), in elements.
  Lease(const Fabric& fabric, plmr::Memory kind, const std::function<Index(mesh::CoreCoord)>& elements_of);
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease();

  /// As many bytes more on every core, (H, W).
  void grow(const std::vector<Index>& bytes);

private:
  void release();
  plmr::Execution* execution_ = nullptr;
  plmr::Memory kind_ = plmr::Memory::buffers;
  std::vector<Index> bytes_;  // (H, W)
};

}  // namespace wafer::fabric
