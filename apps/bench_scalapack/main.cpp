// bench_scalapack: our distributed products against ScaLAPACK's, on the same ranks, operands and BLAS.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <cblas.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include "bench_scalapack/contest.hpp"
#include "fabric/agree.hpp"
#include "io/json.hpp"
#include "kernels/gemm.hpp"

namespace wafer::bench {

using fabric::Communicator, fabric::Fabric;

namespace {

// How much of the contraction psgemm sends and multiplies at a time where it has more than one process.
int logical_block = 32;

struct Flags {
  std::vector<Index> sizes = {2048, 4096};
  int reps = 7;
  int threads = 1;
  Index block = 64;
  std::string mesh;
  std::uint64_t seed = 0;
  bool json = false;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds of the slowest rank. Collective.
template <class F>
double timed(const Communicator& world, F f) {
  world.max(0.0);  // lets ranks start together: barrier() sleeps, and they leave it up to a millisecond apart
  const double start = now();
  f();
  return world.max(now() - start);
}

struct Samples {
  std::vector<double> ours, theirs;  // (reps) [s]
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2.0;
}

// One after the other, so that whatever else the machine does meets both, and first in turn, so that neither
// always finds the caches as the other left them; after one of each that warms up.
Samples measure(const Setup& setup, const Flags& flags, Contest& contest) {
  const Communicator& world = setup.world();
  const auto ours = [&] {
    // Where a rank has several cores, it is those that its threads share out.
    openblas_set_num_threads(setup.fabric.threads() > 1 ? 1 : flags.threads);
    return timed(world, [&] { contest.ours(); });
  };
  const auto theirs = [&] {
    openblas_set_num_threads(flags.threads);
    return timed(world, [&] { contest.theirs(); });
  };
  ours();
  theirs();
  Samples samples;
  for (int rep = 0; rep < flags.reps; ++rep) {
    if (rep % 2 == 0) samples.ours.push_back(ours());
    samples.theirs.push_back(theirs());
    if (rep % 2 == 1) samples.ours.push_back(ours());
  }
  return samples;
}

struct Found {
  std::string product;
  Index n = 0;
  Samples samples;
  double disagreement = 0.0;
  double work = 0.0;  // in units of 1e9: floating-point operations, or bytes of the matrix
  std::string unit;

  double ratio() const { return median(samples.theirs) / median(samples.ours); }
  bool good() const { return disagreement <= 1.0; }
};

Found run_gemm(const Setup& setup, const Flags& flags, Index n) {
  GemmContest contest(setup, n);
  const Samples samples = measure(setup, flags, contest);
  const auto edge = static_cast<double>(n);
  return {"gemm", n, samples, contest.disagreement(), 2e-9 * edge * edge * edge, "GFLOP/s"};
}

Found run_gemv(const Setup& setup, const Flags& flags, Index n) {
  GemvContest contest(setup, n);
  const Samples samples = measure(setup, flags, contest);
  const auto edge = static_cast<double>(n);
  return {"gemv", n, samples, contest.disagreement(), 1e-9 * sizeof(float) * edge * edge, "GB/s"};
}

// CPUs that the kernel lets the ranks run on, which mpirun's binding may have cut down.
struct Cpus {
  Index allowed = 0;  // the least of any rank
  Index machine = 0;
};

Cpus cpus_of(const Communicator& world) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const Index machine = sysconf(_SC_NPROCESSORS_ONLN);
  const Index allowed = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : machine;
  return {world.min(allowed), machine};
}

void warn_if_crowded(const Communicator& world, const Flags& flags, const Cpus& cpus) {
  const Index wanted = Index{world.size()} * flags.threads;
  if (!world.is_root() || wanted <= cpus.allowed) return;
  std::fprintf(stderr, "warning: %d ranks x %d threads want %td CPUs, and a rank may use %td%s\n",
               world.size(), flags.threads, wanted, cpus.allowed,
               cpus.allowed < cpus.machine ? ": is it bound? try mpirun --bind-to none"
                                           : ": the times are those of ranks that wait for each other");
}

io::Json to_json(const Found& found) {
  const auto side = [&](const std::vector<double>& seconds) {
    return io::Json{
        {"seconds", seconds}, {"median_seconds", median(seconds)}, {"rate", found.work / median(seconds)}};
  };
  return {{"product", found.product},
          {"n", found.n},
          {"unit", found.unit},
          {"ours", side(found.samples.ours)},
          {"scalapack", side(found.samples.theirs)},
          {"ratio", found.ratio()},
          {"difference_share_of_bound", found.disagreement},
          {"good", found.good()}};
}

std::string to_text(const Found& found) {
  const Samples& samples = found.samples;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < samples.ours.size(); ++i) ratios.push_back(samples.theirs[i] / samples.ours[i]);
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  const double ours = median(samples.ours), theirs = median(samples.theirs);
  return fmt::format(
      "{:<7} {:>6}  {:>10.6f} {:>10.2f}  {:>10.6f} {:>10.2f}  {:<7}  {:>6.3f}  {:>14}  {:>10.3f} {}\n",
      found.product, found.n, ours, found.work / ours, theirs, found.work / theirs, found.unit, found.ratio(),
      fmt::format("{:.3f} to {:.3f}", *least, *most), found.disagreement, found.good() ? "ok" : "FAILED");
}

void print(const Setup& setup, const Flags& flags, const std::string& kernels, const Cpus& cpus,
           const std::vector<Found>& all) {
  const int ranks = setup.world().size();
  const std::string grid = to_string(setup.one_each.mesh()), mesh = to_string(setup.fabric.mesh());
  std::string text;
  if (flags.json) {
    io::Json rows = io::Json::array();
    for (const Found& found : all) rows.push_back(to_json(found));
    text = io::to_text({{"ranks", ranks},
                        {"grid", grid},
                        {"mesh", mesh},
                        {"block", flags.block},
                        {"logical_block", logical_block},
                        {"threads", flags.threads},
                        {"seed", flags.seed},
                        {"cpus_allowed", cpus.allowed},
                        {"cpus_machine", cpus.machine},
                        {"kernels", kernels},
                        {"results", rows}}) +
           "\n";
  } else {
    text = fmt::format("ranks: {}; threads of each: {}; CPUs: each may use {} of {}; {}\n", ranks,
                       flags.threads, cpus.allowed, cpus.machine, kernels);
    text += fmt::format(
        "ours: {} cores; ScaLAPACK: {} grid, blocks of {}, logical {}; medians of {} interleaved runs\n\n",
        mesh, grid, flags.block, logical_block, flags.reps);
    text += fmt::format("{:<7} {:>6}  {:>10} {:>10}  {:>10} {:>10}  {:<7}  {:>6}  {:>14}  {:>10}\n",
                        "product", "n", "ours [s]", "rate", "theirs [s]", "rate", "unit", "ratio",
                        "of the pairs", "difference");
    for (const Found& found : all) text += to_text(found);
    text += "\nratio: theirs / ours, above 1 ours is faster; difference: of the rounding bound\n";
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (std::fflush(stdout) != 0) throw InputError({.what = "cannot write to stdout"});
}

mesh::Mesh squarest(Index ranks) {
  mesh::Mesh best{1, ranks};
  for (Index rows = 2; rows * rows <= ranks; ++rows)
    if (ranks % rows == 0) best = {rows, ranks / rows};
  return best;
}

int bench(const Communicator& world, const Flags& flags) {
  const mesh::Mesh grid_shape = squarest(world.size());
  const mesh::Mesh mesh = flags.mesh.empty() ? grid_shape : mesh::parse_mesh(flags.mesh, "--mesh");
  if (mesh.height < grid_shape.height || mesh.width < grid_shape.width)
    throw UsageError({.what = "--mesh",
                      .got = to_string(mesh),
                      .expected = "a core for each rank of the " + to_string(grid_shape) + " grid"});
  const std::string kernels = kernels::use_library();
  const mesh::Tiling tiling(mesh, world.size(), grid_shape);
  const Index cores = world.max(std::int64_t{tiling.tile(world.rank()).cores()});
  const Fabric fabric(world, tiling, cores > 1 ? flags.threads : 1);
  const Fabric one_each(world, mesh::Tiling(grid_shape, world.size(), grid_shape));
  const ProcessGrid grid(grid_shape);
  const Setup setup{fabric, one_each, grid, flags.block, flags.seed};
  const Cpus cpus = cpus_of(world);
  warn_if_crowded(world, flags, cpus);
  std::vector<Found> all;
  for (const Index n : flags.sizes) all.push_back(run_gemm(setup, flags, n));
  for (const Index n : flags.sizes) all.push_back(run_gemv(setup, flags, n));
  fabric::agree(world, [&] {
    if (world.is_root()) print(setup, flags, kernels, cpus, all);
  });
  const bool good = std::all_of(all.begin(), all.end(), [](const Found& found) { return found.good(); });
  return static_cast<int>(good ? ExitCode::good : ExitCode::verification);
}

void add_flags(CLI::App& app, Flags& flags) {
  // ScaLAPACK counts a process' elements in 32 bits.
  app.add_option("--sizes", flags.sizes, "n of the n x n matrices, with commas between them")
      ->delimiter(',')
      ->check(CLI::Range(Index{1}, Index{1} << 15))
      ->capture_default_str();
  app.add_option("--reps", flags.reps, "timed repetitions of each, after one that warms up")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--threads", flags.threads, "threads of each rank, for both")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--block", flags.block, "rows and columns of ScaLAPACK's blocks")
      ->check(CLI::Range(Index{1}, Index{1} << 15))
      ->capture_default_str();
  app.add_option("--logical-block", logical_block,
                 "columns and rows that psgemm sends and multiplies at a time; ScaLAPACK's own: 32")
      ->check(CLI::Range(1, 1 << 15))
      ->capture_default_str();
  app.add_option("--mesh", flags.mesh, "our cores, rows x columns, as in 8x8 (default: one a rank)");
  app.add_option("--seed", flags.seed, "of the operands");
  app.add_flag("--json", flags.json, "print one JSON object, with all samples");
  app.footer("Example: mpirun -n 4 --bind-to none bench_scalapack --sizes 2048,4096 --logical-block 256");
}

int run(const Communicator& world, int argc, char** argv) {
  CLI::App app("Times C = A B and c = a B on the mesh against ScaLAPACK's psgemm and psgemv.",
               "bench_scalapack");
  Flags flags;
  add_flags(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0)
      throw UsageError({.what = error.what(), .remedy = "bench_scalapack --help"});
    if (world.is_root()) app.exit(error);  // --help
    return static_cast<int>(ExitCode::good);
  }
  return bench(world, flags);
}

// One rank alone may have failed, and the others be waiting for it.
int leave(const Communicator& world, ExitCode code) {
  if (world.size() > 1) fabric::abort(static_cast<int>(code));
  return static_cast<int>(code);
}

}  // namespace

// Takes the place of ScaLAPACK's own, which always says 32: "users are encouraged to modify this subroutine",
// it says, as there is no other way to tune psgemm. Collective: every process has to say the same.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int pilaenv_(const int* /*context*/, const char* /*precision*/) { return logical_block; }

}  // namespace wafer::bench

int main(int argc, char** argv) {
  const wafer::fabric::Session mpi(argc, argv);
  const auto world = wafer::fabric::Communicator::world();
  try {
    return wafer::bench::run(world, argc, argv);
  } catch (const wafer::UserError& error) {  // thrown by every rank alike
    if (world.is_root()) std::fprintf(stderr, "error: %s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {  // outside the stages in which ranks agree
    std::fprintf(stderr, "error: rank %d: out of memory; try more machines or smaller --sizes\n",
                 world.rank().value);
    return wafer::bench::leave(world, wafer::ExitCode::does_not_fit);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: rank %d: %s\n", world.rank().value, error.what());
    return wafer::bench::leave(world, wafer::ExitCode::internal);
  }
}
