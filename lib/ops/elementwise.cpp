#include "ops/elementwise.hpp"

#include <utility>

#include "kernels/activation.hpp"

namespace wafer::ops {

using fabric::Blocks, fabric::Fabric, fabric::Placement;

namespace {

// Calls f(i, j) for every block on this rank.
template <class F>
void for_blocks(const Blocks& X, F f) {
  for (Index i = 0; i < X.placement().rows().parts(); ++i)
    for (Index j = 0; j < X.placement().cols().parts(); ++j)
      if (X.here(i, j)) f(i, j);
}

// Elements of a plain matrix, or of a copied vector, on a core.
Index elements(const Placement& placement, mesh::CoreCoord core) {
  if (const auto axis = placement.copied_along()) return placement.cols().size(mesh::line_of(*axis, core));
  return placement.rows().size(core.y) * placement.cols().size(core.x);
}

}  // namespace

void add(const Fabric& fabric, const Blocks& Y, Blocks& X) {
  const plmr::Operator charged(fabric.execution(), "residual");
  fabric.charge([&](const plmr::Cost& cost, mesh::CoreCoord core) {
    return cost.vector(elements(X.placement(), core));
  });
  for_blocks(X, [&](Index i, Index j) {
    for (Index m = 0; m < X.shape(i, j).rows; ++m) kernels::add(Y(i, j).row(m), X(i, j).row(m));
  });
}

void add_bias(const Fabric& fabric, std::span<const float> bias, Blocks& X) {
  if (bias.empty()) return;
  const plmr::Operator charged(fabric.execution(), "bias");
  fabric.charge([&](const plmr::Cost& cost, mesh::CoreCoord core) {
    return cost.vector(elements(X.placement(), core));
  });
  for_blocks(X, [&](Index i, Index j) {
    std::vector<float> part;
    for (const Index index : X.placement().cols().indices(j)) part.push_back(bias[at(index)]);
    for (Index m = 0; m < X.shape(i, j).rows; ++m) kernels::add(part, X(i, j).row(m));
  });
}

Blocks silu_product(const Fabric& fabric, const Blocks& gate_up, Placement placement) {
  const plmr::Operator charged(fabric.execution(), "silu");
  Blocks product = Blocks::to_write(fabric, std::move(placement));
  fabric.charge([&](const plmr::Cost& cost, mesh::CoreCoord core) {
    const Index n = elements(product.placement(), core);
    const plmr::Device& device = cost.device();
    return n * (device.divide + device.exponential) + cost.vector(n);
  });
  for_blocks(product, [&](Index i, Index j) {
    const std::size_t width = at(product.shape(i, j).cols);
    for (Index m = 0; m < product.shape(i, j).rows; ++m) {
      const auto row = gate_up(i, j).row(m);
      kernels::silu_product(row.first(width), row.last(width), product(i, j).row(m));
    }
  });
  return product;
}

}  // namespace wafer::ops
