#pragma once

#include "mesh/interleave.hpp"

namespace wafer::mesh {

/// The order in which a line of cores passes blocks on: the core at position p hands its block to position p
/// - 1.
class Ring {
public:
  enum class Order {
    interleaved,  ///< neighbours are at most two hops apart (MeshGEMM)
    natural,      ///< the line's own order with a wrap of n - 1 hops (Cannon)
  };
  explicit Ring(Index size, Order order = Order::interleaved) : size_(size), order_(order) {}

  Index size() const { return size_; }
  RingPos position_of(Index place) const {
    return order_ == Order::natural ? RingPos{place} : interleaved_position(place, size_);
  }
  Index place_of(RingPos position) const {
    return order_ == Order::natural ? position.value : interleaved_place(position, size_);
  }

private:
  Index size_;
  Order order_;
};

}  // namespace wafer::mesh
