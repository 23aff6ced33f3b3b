#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "fabric/blocks.hpp"

namespace wafer::ops {

/// One way of computing C = A B on the mesh. All have the same contract, so that a model can run with any.
class Gemm {
public:
  virtual ~Gemm() = default;

  /// Where it wants B, for a left operand whose columns are cut by `contraction` and a result whose columns
  /// are cut by `cols`.
  virtual fabric::Placement right(const Partition& contraction, const Partition& cols) const = 0;

  /// @param A (M, K)  plain: rows over the mesh's rows, columns over its columns
  /// @param B (K, N)  right(A's columns, cols); back in place afterwards
  /// @param cols how the columns of C are cut
  /// @return  (M, N)  plain
  /// Collective: every rank calls it with the same shapes.
  virtual fabric::Blocks multiply(const fabric::Blocks& A, fabric::Blocks& B,
                                  const Partition& cols) const = 0;
};

struct GemmAlgorithm {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Gemm> (*make)(const fabric::Fabric& fabric);  // the fabric must outlive it
};

/// All of them, by the names that the command line knows.
std::span<const GemmAlgorithm> gemm_algorithms();

/// @throws UsageError that names the known ones
const GemmAlgorithm& gemm_algorithm(std::string_view name);

}  // namespace wafer::ops
