#include "ops/gemv.hpp"

#include <algorithm>

#include "kernels/activation.hpp"
#include "kernels/gemv.hpp"

namespace wafer::ops {

using fabric::AllReduce, fabric::Blocks, fabric::Fabric, fabric::Placement;

namespace {

fabric::AllReduceWork work_of(const Blocks& a, const Blocks& B, Blocks& c) {
  return {[&](Index line) { return B.placement().cols().size(line); },
          [&](Index line, Index place, std::span<float> c_part) {
            std::fill(c_part.begin(), c_part.end(), 0.0F);
            kernels::gemv_add(a.vector(place), B.typed(place, line), c_part);
            return c_part;
          },
          kernels::add, [&](Index line) { return c.vector(line); }};
}

// Axis along which a is cut: the place on it is B's row part.
void charge_local(const Fabric& fabric, mesh::Axis axis, const Blocks& B) {
  fabric.enter();
  fabric.charge([&](const plmr::Cost& cost, mesh::CoreCoord core) {
    const Index k = B.placement().rows().size(mesh::place_on(axis, core));
    const Index n = B.placement().cols().size(mesh::line_of(axis, core));
    return cost.vector(n) + cost.gemv(k, n);  // c = 0, then the products
  });
}

}  // namespace

Blocks mesh_gemv(const Fabric& fabric, mesh::Axis axis, const AllReduce& lines, const Blocks& a,
                 const Blocks& B) {
  const plmr::Operator charged(fabric.execution(), "mesh_gemv");
  charge_local(fabric, axis, B);
  Blocks c(fabric, Placement::copied(axis, B.placement().cols()));
  lines.run(work_of(a, B, c));
  return c;
}

Blocks mesh_gemv_to_root(const Fabric& fabric, mesh::Axis axis, const AllReduce& lines, const Blocks& a,
                         const Blocks& B) {
  const plmr::Operator charged(fabric.execution(), "mesh_gemv");
  charge_local(fabric, axis, B);
  const auto home = [&lines, axis](Index, Index line) { return mesh::core_at(axis, line, lines.root(line)); };
  Blocks c(fabric, Placement(Partition::even(1, 1), B.placement().cols(), home));
  lines.run_to_root(work_of(a, B, c));
  return c;
}

}  // namespace wafer::ops
