// wafermesh gemm: one distributed product, checked.
#include "kernels/gemm.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/random.hpp"
#include "core/units.hpp"
#include "fabric/agree.hpp"
#include "ops/mesh_gemm.hpp"
#include "ops/mesh_gemm_t.hpp"
#include "wafermesh/common.hpp"

namespace wafer::app {

using fabric::Blocks, fabric::Communicator, fabric::Fabric, fabric::Placement;

namespace {

struct GemmFlags {
  MeshFlags mesh;
  OutputFlags output;
  Index m = 256, n = 256, k = 256;
  std::string algorithm = "mesh";
  std::uint64_t seed = 0;
};

// Calls f(global row, global column, value) for every element on this rank. Blocks that are copied nowhere
// only.
template <class F>
void for_elements(const Blocks& matrix, F f) {
  const auto& rows = matrix.placement().rows();
  const auto& cols = matrix.placement().cols();
  for (Index i = 0; i < rows.parts(); ++i)
    for (Index j = 0; j < cols.parts(); ++j) {
      if (!matrix.here(i, j)) continue;
      const auto block = matrix(i, j);
      for (Index r = 0; r < block.rows(); ++r)
        for (Index c = 0; c < block.cols(); ++c)
          f(rows.indices(i)[at(r)], cols.indices(j)[at(c)], block(r, c));
    }
}

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

// y = M x (or M^T x) in double, and the norm of every row's terms.
struct Applied {
  std::vector<double> y;
  std::vector<double> magnitude;
};

Applied apply(const Communicator& world, const Blocks& matrix, const std::vector<double>& x,
              bool transposed) {
  const Shape shape = matrix.placement().shape();
  const Index length = transposed ? shape.cols : shape.rows;
  Applied result{std::vector<double>(at(length)), std::vector<double>(at(length))};
  for_elements(matrix, [&](Index row, Index col, float value) {
    const auto out = at(transposed ? col : row);
    const double term = static_cast<double>(value) * x[at(transposed ? row : col)];
    result.y[out] += term;
    result.magnitude[out] += std::abs(term);
  });
  world.sum(result.y);
  world.sum(result.magnitude);
  return result;
}

// Freivalds: C r against A (B r), for a fixed random r of +-1. The worst row, as a share of what float32
// rounding allows: at most k eps times the sum of |a||b| over a row's products.
double freivalds(const Communicator& world, const Blocks& A, const Blocks& B, const Blocks& C,
                 bool transposed) {
  const Index n = C.placement().cols().length();
  const auto k = static_cast<double>(A.placement().cols().length());
  double worst = 0.0;
  for (std::uint64_t round = 0; round < 2; ++round) {
    const Random random(12345 + round, 7);
    std::vector<double> r(at(n));
    for (Index j = 0; j < n; ++j) r[at(j)] = random.uniform(static_cast<std::uint64_t>(j)) < 0.5 ? -1.0 : 1.0;
    const Applied b_r = apply(world, B, r, transposed);
    const Applied ab_r = apply(world, A, b_r.y, false);
    const Applied bound = apply(world, A, b_r.magnitude, false);
    const Applied c_r = apply(world, C, r, false);
    for (std::size_t i = 0; i < c_r.y.size(); ++i) {
      const double allowed = std::max(1.0, k) * 0x1p-24 * bound.magnitude[i] + 1e-30;
      const double share = std::abs(c_r.y[i] - ab_r.y[i]) / allowed;
      if (!(share <= worst)) worst = share;  // a NaN stays
    }
  }
  return worst;
}

// Depends on every element's place and bits, not on how they lie on ranks.
std::uint64_t hash_of(const Communicator& world, const Blocks& matrix) {
  const Index width = matrix.placement().cols().length();
  std::uint64_t sum = 0;
  for_elements(matrix, [&](Index row, Index col, float value) {
    std::uint64_t z =
        (static_cast<std::uint64_t>(row * width + col) << 32) ^ std::bit_cast<std::uint32_t>(value);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    sum += z ^ (z >> 31);
  });
  return static_cast<std::uint64_t>(world.sum(static_cast<std::int64_t>(sum)));
}

struct Measured {
  double seconds = 0.0;
  double share = 0.0;  // the error, of what rounding allows
  std::uint64_t hash = 0;
};

Measured multiply(const Fabric& fabric, const GemmFlags& flags) {
  const Communicator& world = fabric.communicator();
  const bool transposed = flags.algorithm == "mesh-t";
  const Partition k = Partition::even(flags.k, fabric.mesh().width);
  Blocks A, B;
  fabric::agree(world, [&] {  // memory may run out on some ranks only
    A = Blocks(fabric, Placement::plain(Partition::even(flags.m, fabric.mesh().height), k));
    B = Blocks(fabric, transposed
                           ? ops::mesh_gemm_t_right(fabric, flags.n, k)
                           : ops::mesh_gemm_right(fabric, k, Partition::even(flags.n, fabric.mesh().width)));
  });
  fill(A, flags.seed, 1);
  fill(B, flags.seed, 2);
  world.barrier();
  const double start = now();
  const Blocks C = transposed ? ops::mesh_gemm_t(fabric, A, B) : ops::mesh_gemm(fabric, A, B);
  const double seconds = world.max(now() - start);
  return {seconds, freivalds(world, A, B, C, transposed), hash_of(world, C)};
}

Result to_result(const GemmFlags& flags, const Fabric& fabric, const Measured& measured) {
  const double gflops = 2e-9 * static_cast<double>(flags.m) * static_cast<double>(flags.n) *
                        static_cast<double>(flags.k) / measured.seconds;
  const bool good = measured.share <= 1.0;
  const int ranks = fabric.communicator().size();
  return {{{"algorithm", flags.algorithm},
           {"m", flags.m},
           {"n", flags.n},
           {"k", flags.k},
           {"mesh", to_string(fabric.mesh())},
           {"ranks", ranks},
           {"seconds", measured.seconds},
           {"gflops", gflops},
           {"error_share_of_bound", measured.share},
           {"good", good},
           {"hash", format_hash(measured.hash)},
           {"kernels", kernels::use_library()}},
          fmt::format("{} {} x {} x {} on {} cores, {} ranks: {:.4f} s, {:.2f} GFLOP/s\n"
                      "check {}: error {:.3f} of the rounding bound; result hash: {}\n",
                      flags.algorithm, flags.m, flags.n, flags.k, to_string(fabric.mesh()), ranks,
                      measured.seconds, gflops, good ? "ok" : "FAILED", measured.share,
                      format_hash(measured.hash))};
}

int gemm(const Communicator& world, const GemmFlags& flags) {
  const Fabric fabric(world, flags.mesh.tiling(world), flags.mesh.threads);
  flags.output.check(world);
  const Measured measured = multiply(fabric, flags);
  flags.output.deliver(world, [&] { return to_result(flags, fabric, measured); });
  return static_cast<int>(measured.share <= 1.0 ? ExitCode::good : ExitCode::verification);
}

}  // namespace

void add_gemm(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("gemm", "one product on the mesh, checked by Freivalds' test");
  const auto flags = std::make_shared<GemmFlags>();
  flags->mesh.add_to(*command);
  flags->output.add_to(*command);
  const auto size = CLI::Range(Index{1}, Index{1} << 20);
  command->add_option("-m", flags->m, "rows of A and C")->check(size)->capture_default_str();
  command->add_option("-n", flags->n, "columns of B and C")->check(size)->capture_default_str();
  command->add_option("-k", flags->k, "columns of A, rows of B")->check(size)->capture_default_str();
  command->add_option("--algorithm", flags->algorithm, "mesh (C = A B) or mesh-t (C = A B^T)")
      ->check(CLI::IsMember({"mesh", "mesh-t"}))
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "of the matrices");
  command->footer("Example: mpirun -n 2 wafermesh gemm --mesh 8x8 -m 100 -n 77 -k 123");
  command->callback(
      [&chosen, flags] { chosen = [flags](const Communicator& world) { return gemm(world, *flags); }; });
}

}  // namespace wafer::app
