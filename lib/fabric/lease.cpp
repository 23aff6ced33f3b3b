#include "fabric/lease.hpp"

#include <utility>

namespace wafer::fabric {

using mesh::CoreCoord;

Lease::Lease(const Fabric& fabric, const Placement& placement, plmr::Memory kind)
    : execution_(fabric.memory()), kind_(kind) {
  if (execution_ == nullptr) return;
  const mesh::Mesh mesh = fabric.mesh();
  const Index element = execution_->cost().precision().element_bytes;
  bytes_.assign(at(mesh.cores()), 0);
  for (Index i = 0; i < placement.rows().parts(); ++i)
    for (Index j = 0; j < placement.cols().parts(); ++j) {
      const Index bytes = placement.block_shape(i, j).size() * element;
      if (bytes == 0) continue;
      const CoreCoord home = placement.home(i, j);
      if (!placement.copied_along()) {
        bytes_[at(home.y * mesh.width + home.x)] += bytes;
        continue;
      }
      const mesh::Axis axis = *placement.copied_along();
      const Index first = axis == mesh::Axis::x ? home.y * mesh.width : home.x;
      const Index step = axis == mesh::Axis::x ? 1 : mesh.width;
      for (Index place = 0; place < mesh.length(axis); ++place) bytes_[at(first + place * step)] += bytes;
    }
  execution_->hold(kind_, bytes_, 1);
}

Lease::Lease(const Fabric& fabric, plmr::Memory kind, const std::function<Index(CoreCoord)>& elements_of)
    : execution_(fabric.memory()), kind_(kind) {
  if (execution_ == nullptr) return;
  const mesh::Mesh mesh = fabric.mesh();
  const Index element = execution_->cost().precision().element_bytes;
  bytes_.reserve(at(mesh.cores()));
  for (Index y = 0; y < mesh.height; ++y)
    for (Index x = 0; x < mesh.width; ++x) bytes_.push_back(elements_of({y, x}) * element);
  execution_->hold(kind_, bytes_, 1);
}

Lease::Lease(Lease&& other) noexcept
    : execution_(std::exchange(other.execution_, nullptr)),
      kind_(other.kind_),
      bytes_(std::move(other.bytes_)) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  release();
  execution_ = std::exchange(other.execution_, nullptr);
  kind_ = other.kind_;
  bytes_ = std::move(other.bytes_);
  return *this;
}

Lease::~Lease() { release(); }

void Lease::release() {
  if (execution_ != nullptr) execution_->hold(kind_, bytes_, -1);
  execution_ = nullptr;
}

}  // namespace wafer::fabric
