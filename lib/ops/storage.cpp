#include "ops/storage.hpp"

#include "kernels/rounding.hpp"

namespace wafer::ops {

void store_as(const fabric::Fabric& fabric, DType type, fabric::Blocks& X) {
  if (type == DType::f32 || fabric.dry()) return;
  fabric.parallel(X.placement().rows().parts(), [&](Index i) {
    for (Index j = 0; j < X.placement().cols().parts(); ++j)
      if (X.here(i, j)) kernels::round_to(type, {X(i, j).data(), at(X.shape(i, j).size())});
  });
}

}  // namespace wafer::ops
