#include "fabric/lease.hpp"

#include <algorithm>
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
      CoreCoord home = placement.home(i, j);
      if (const auto axis = placement.copied_along())
        home = mesh::core_at(*axis, mesh::line_of(*axis, home), 0);
      bytes_[at(home.y * mesh.width + home.x)] += bytes;
    }
  // What is copied is at the first core of each line so far.
  if (placement.copied_along() == mesh::Axis::x)
    for (auto row = bytes_.begin(); row != bytes_.end(); row += mesh.width)
      std::fill_n(row, mesh.width, *row);
  if (placement.copied_along() == mesh::Axis::y)
    for (auto row = bytes_.begin() + mesh.width; row != bytes_.end(); row += mesh.width)
      std::copy_n(bytes_.begin(), mesh.width, row);
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

void Lease::grow(const std::vector<Index>& bytes) {
  if (execution_ == nullptr) return;
  for (std::size_t core = 0; core < bytes_.size(); ++core) bytes_[core] += bytes[core];
  execution_->hold(kind_, bytes, 1);
}

void Lease::release() {
  if (execution_ != nullptr) execution_->hold(kind_, bytes_, -1);
  execution_ = nullptr;
}

}  // namespace wafer::fabric
