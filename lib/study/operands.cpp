#include "study/operands.hpp"

#include <cmath>
#include <vector>

#include "core/random.hpp"
#include "fabric/redistribute.hpp"

namespace wafer::study {

using fabric::Blocks, fabric::Fabric;

void fill(Blocks& matrix, std::uint64_t seed, std::uint64_t stream) {
  const Random random(seed, stream);
  const Index width = matrix.placement().cols().length();
  const auto& rows = matrix.placement().rows();
  const auto& cols = matrix.placement().cols();
  for (Index i = 0; i < rows.parts(); ++i)
    for (Index j = 0; j < cols.parts(); ++j) {
      if (!matrix.here(i, j)) continue;
      const auto block = matrix(i, j);
      for (Index r = 0; r < block.rows(); ++r)
        for (Index c = 0; c < block.cols(); ++c) {
          const auto n = static_cast<std::uint64_t>(rows.indices(i)[at(r)] * width + cols.indices(j)[at(c)]);
          block(r, c) = static_cast<float>(2.0 * random.uniform(n) - 1.0);
        }
    }
}

double gemv_error(const Fabric& fabric, const Blocks& a, const Blocks& B, const Blocks& c) {
  const Index n = B.placement().cols().length();
  std::vector<double> exact(at(n), 0.0), scale(at(n), 0.0);
  fabric.without_threads().for_cores([&](mesh::CoreCoord core) {
    const auto block = B(core.y, core.x);
    const auto columns = B.placement().cols().indices(core.x);
    for (Index r = 0; r < block.rows(); ++r)
      for (Index j = 0; j < block.cols(); ++j) {
        const double product =
            static_cast<double>(a.vector(core.y)[at(r)]) * static_cast<double>(block(r, j));
        exact[at(columns[at(j)])] += product;
        scale[at(columns[at(j)])] += std::abs(product);
      }
  });
  const fabric::Communicator& world = fabric.communicator();
  world.sum(exact);
  world.sum(scale);
  const auto whole = fabric::gather(fabric, c);
  const double roundings = (static_cast<double>(B.placement().rows().length()) + 2.0) * std::ldexp(1.0, -24);
  double most = 0.0;
  for (std::size_t j = 0; j < whole.size(); ++j) {
    const double error = std::abs(static_cast<double>(whole[j]) - exact[j]);
    const double share = error == 0.0 ? 0.0 : error / (roundings * scale[j]);
    most = share <= most ? most : share;  // NaN counts
  }
  if (std::isnan(most)) most = INFINITY;
  return world.max(world.is_root() ? most : 0.0);
}

}  // namespace wafer::study
