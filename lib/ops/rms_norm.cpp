#include "ops/rms_norm.hpp"

#include <vector>

#include "kernels/activation.hpp"
#include "kernels/norm.hpp"

namespace wafer::ops {

using fabric::AllReduce, fabric::Blocks, fabric::Fabric;
using mesh::CoreCoord;

namespace {

// The elements of gamma that a part of the features needs, in its order.
std::vector<float> slice(std::span<const float> gamma, std::span<const Index> indices) {
  std::vector<float> part(indices.size());
  for (std::size_t k = 0; k < part.size(); ++k) part[k] = gamma[at(indices[k])];
  return part;
}

}  // namespace

Blocks rms_norm(const Fabric& fabric, const Blocks& X, std::span<const float> gamma, float eps,
                const AllReduce& rows) {
  const auto& placement = X.placement();
  const auto n = static_cast<float>(placement.cols().length());
  const plmr::Operator charged(fabric.execution(), "rms_norm");
  fabric.enter();
  fabric.charge([&](const plmr::Cost& cost, CoreCoord core) {
    const Index tokens = placement.rows().size(core.y), features = placement.cols().size(core.x);
    return cost.vector(tokens * features) + features * cost.vector(tokens);
  });
  std::vector<std::vector<float>> sums(at(fabric.mesh().height));  // (rows) one number per token
  rows.run({[&](Index y) { return placement.rows().size(y); },
            [&](Index y, Index x, std::span<float> own) {
              const auto block = X(y, x);
              for (Index m = 0; m < block.rows(); ++m) own[at(m)] = kernels::sum_of_squares(block.row(m));
              return own;
            },
            kernels::add,
            [&](Index y) {
              sums[at(y)].resize(at(placement.rows().size(y)));
              return std::span(sums[at(y)]);
            }});
  fabric.charge([&](const plmr::Cost& cost, CoreCoord core) {
    const Index tokens = placement.rows().size(core.y), features = placement.cols().size(core.x);
    return tokens * (2 * cost.device().divide + cost.device().square_root) +
           2 * features * cost.vector(tokens);
  });
  Blocks Y = Blocks::to_write(fabric, placement);
  fabric.for_cores([&](CoreCoord core) {
    const auto x = X(core.y, core.x);
    const auto y = Y(core.y, core.x);
    const auto part = slice(gamma, placement.cols().indices(core.x));
    for (Index m = 0; m < x.rows(); ++m)
      kernels::normalize(x.row(m), kernels::rms_scale(sums[at(core.y)][at(m)], n, eps), part, y.row(m));
  });
  return Y;
}

Blocks rms_norm_vector(const Fabric& fabric, const Blocks& x, std::span<const float> gamma, float eps,
                       const AllReduce& columns) {
  const auto& parts = x.placement().cols();
  const plmr::Operator charged(fabric.execution(), "rms_norm");
  fabric.enter();
  fabric.charge([&](const plmr::Cost& cost, CoreCoord core) { return 2 * cost.vector(parts.size(core.y)); });
  float sum = 0.0F;  // the same on every column
  columns.run({[](Index) { return Index{1}; },
               [&](Index, Index y, std::span<float> own) {
                 own[0] = kernels::sum_of_squares(x.vector(y));
                 return own;
               },
               kernels::add, [&](Index) { return std::span(&sum, 1); }});
  fabric.charge([&](const plmr::Cost& cost, CoreCoord core) {
    return 2 * cost.device().divide + cost.device().square_root + cost.vector(parts.size(core.y));
  });
  const float scale = kernels::rms_scale(sum, static_cast<float>(parts.length()), eps);
  Blocks normed = Blocks::to_write(fabric, x.placement());
  const mesh::Range rows = fabric.tile().rows;
  for (Index y = rows.begin; y < rows.end && fabric.tile().cores() > 0; ++y)
    kernels::normalize(x.vector(y), scale, slice(gamma, parts.indices(y)), normed.vector(y));
  return normed;
}

}  // namespace wafer::ops
