#pragma once

#include <functional>

#include "core/index.hpp"
#include "fabric/communicator.hpp"
#include "wafermesh/bench_case.hpp"

namespace wafer::app {

/// Seconds of `run` on the slowest rank; all start at once. Collective.
double time_together(const fabric::Communicator& world, const std::function<void()>& run);

/// Sets the baseline: one OpenBLAS sgemm of n x n x n on rank 0 with as many threads as there are ranks,
/// while the others sleep. Its time counts `times` over.
void set_sgemm_baseline(Contest& contest, const fabric::Communicator& world, Index n, double times = 1.0);

/// Sets the baseline: every rank reads its share of `bytes` from its own memory, `times` over.
void set_read_baseline(Contest& contest, const fabric::Communicator& world, std::int64_t bytes, int times);

/// @throws FitError where a rank may not use as many CPUs as `needed`. Collective.
void check_cpus(const fabric::Communicator& world, int needed);

}  // namespace wafer::app
