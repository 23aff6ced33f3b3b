#include "ops/gemm.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "core/error.hpp"
#include "ops/allgather_gemm.hpp"
#include "ops/mesh_gemm.hpp"
#include "ops/mesh_gemm_25d.hpp"
#include "ops/summa.hpp"

namespace wafer::ops {

using fabric::Fabric;

namespace {

using Made = std::unique_ptr<Gemm>;
using mesh::Ring;

template <Index rows, Index columns>
Made replicated(const Fabric& fabric) {
  return std::make_unique<MeshGemm25d>(fabric, mesh::Mesh{rows, columns});
}

constexpr std::array algorithms = {
    GemmAlgorithm{"mesh", "MeshGEMM: cyclic shifts along interleaved rings",
                  [](const Fabric& fabric) -> Made { return std::make_unique<MeshGemm>(fabric); }},
    GemmAlgorithm{"mesh-lcm", "MeshGEMM with lcm(height, width) contraction blocks, as the paper cuts",
                  [](const Fabric& fabric) -> Made {
                    const Index blocks = mesh::lcm_blocks(fabric.mesh());
                    return std::make_unique<MeshGemm>(
                        fabric, mesh::QueuePlan(fabric.mesh(), Ring::Order::interleaved, blocks),
                        "mesh_gemm_lcm");
                  }},
    GemmAlgorithm{"cannon", "Cannon: the same shifts along natural rings, whose wrap crosses the mesh",
                  [](const Fabric& fabric) -> Made {
                    return std::make_unique<MeshGemm>(
                        fabric, mesh::QueuePlan(fabric.mesh(), Ring::Order::natural), "cannon");
                  }},
    GemmAlgorithm{"mesh25d", "2.5D MeshGEMM: 4 regions share the contraction and then add up",
                  replicated<2, 2>},
    GemmAlgorithm{"mesh25d-2", "the same with 2 regions side by side", replicated<1, 2>},
    GemmAlgorithm{"mesh25d-9", "the same with 9 regions", replicated<3, 3>},
    GemmAlgorithm{"mesh25d-16", "the same with 16 regions", replicated<4, 4>},
    GemmAlgorithm{"summa", "SUMMA: at each step one column and one row multicast",
                  [](const Fabric& fabric) -> Made { return std::make_unique<Summa>(fabric); }},
    GemmAlgorithm{"allgather", "every core gathers its rows of A and its columns of B, then multiplies",
                  [](const Fabric& fabric) -> Made { return std::make_unique<AllgatherGemm>(fabric); }},
};

}  // namespace

std::span<const GemmAlgorithm> gemm_algorithms() { return algorithms; }

const GemmAlgorithm& gemm_algorithm(std::string_view name) {
  const auto found = std::find_if(algorithms.begin(), algorithms.end(),
                                  [&](const GemmAlgorithm& algorithm) { return algorithm.name == name; });
  if (found != algorithms.end()) return *found;
  std::string known;
  for (const GemmAlgorithm& algorithm : algorithms)
    known += (known.empty() ? "" : ", ") + std::string(algorithm.name);
  throw UsageError({.what = "no such algorithm", .got = "\"" + std::string(name) + "\"", .expected = known});
}

}  // namespace wafer::ops
