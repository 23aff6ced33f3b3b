#include "wafermesh/bench_baseline.hpp"

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sched.h>

#include "core/error.hpp"
#include "kernels/gemm.hpp"
#include "kernels/read.hpp"
#include "tensor/aligned_buffer.hpp"
#include "wafermesh/common.hpp"

namespace wafer::app {

using fabric::Communicator;

double time_together(const Communicator& world, const std::function<void()>& run) {
  world.max(std::int64_t{0});  // all start at once
  const double start = now();
  run();
  return world.max(now() - start);
}

void check_cpus(const Communicator& world, int needed) {
  cpu_set_t own;
  CPU_ZERO(&own);
  const bool known = sched_getaffinity(0, sizeof own, &own) == 0;
  const auto cpus = static_cast<int>(world.min(std::int64_t{known ? CPU_COUNT(&own) : needed}));
  if (cpus < needed)
    throw FitError({.what = "a rank may not use the CPUs that the measurement counts on",
                    .got = std::to_string(cpus),
                    .expected = fmt::format("{}: start mpirun with --bind-to none, or fewer ranks", needed)});
}

namespace {

struct Square {
  explicit Square(Index size) : n(size), memory(at(size * size) * sizeof(float), false) {
    for (Index k = 0; k < n * n; ++k) data()[k] = 0.5F + static_cast<float>(k % 7);
  }
  float* data() const { return reinterpret_cast<float*>(memory.data()); }
  MatrixView<float> view() const { return {data(), {n, n}}; }
  Index n;
  AlignedBuffer memory;
};

}  // namespace

void set_sgemm_baseline(Contest& contest, const Communicator& world, Index n, double times) {
  const int threads = world.size();
  const auto cubed = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  contest.baseline_work = 2e-9 * cubed * times;
  contest.baseline_cpus = threads;
  const auto matrices = std::make_shared<std::vector<Square>>();
  contest.baseline = [&world, n, times, threads, matrices] {
    double seconds = 0.0;
    if (world.is_root()) {
      for (int k = 0; matrices->size() < 3; ++k) matrices->emplace_back(n);
      kernels::use_library(threads);
      const double start = now();
      kernels::gemm((*matrices)[0].view(), (*matrices)[1].view(), (*matrices)[2].view(),
                    kernels::Output::overwrite);
      seconds = times * (now() - start);
      kernels::use_library();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // OpenBLAS's threads spin for 30 ms or so
    }
    world.barrier();  // the others sleep
    return world.max(seconds);
  };
}

void set_read_baseline(Contest& contest, const Communicator& world, std::int64_t bytes, int times) {
  const auto share = static_cast<std::size_t>(bytes / world.size());
  contest.baseline_work = 1e-9 * static_cast<double>(bytes) * times;
  contest.baseline_unit = "GB/s";
  contest.baseline_cpus = world.size();
  const auto memory = std::make_shared<AlignedBuffer>(share);
  contest.baseline = [&world, times, memory] {
    return time_together(world, [&] {
      for (int k = 0; k < times; ++k) kernels::read({memory->data(), memory->bytes()});
    });
  };
}

}  // namespace wafer::app
