#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "fabric/communicator.hpp"
#include "wafermesh/device.hpp"

namespace wafer::app {

/// What a case of the benchmark times, in turn, in one launch.
struct Contest {
  /// Run once and give the seconds of the slowest rank. Collective.
  std::function<double()> subject;
  std::function<double()> baseline;  // none: the bound is one of seconds
  /// Arithmetic [GFLOP] or memory [GB] of one baseline, and the CPUs it counts on.
  double baseline_work = 0.0;
  const char* baseline_unit = "GFLOP/s";
  int baseline_cpus = 0;
  /// The subject's result is right, as far as it can be checked. Collective.
  std::function<bool()> good = [] { return true; };
  /// What else there is to say after the last run; at rank 0. Collective.
  std::function<std::string()> remark = [] { return std::string(); };
};

struct BenchSettings {
  DeviceFlags device;
  int threads = 1;
};

struct BenchCase {
  std::string name;
  std::string what;      // is timed
  std::string beside;    // its baseline
  double at_most = 0.0;  // of the ratio; or seconds
  int ranks = 0;         // that it is meant for; 0: any number
  Contest (*make)(const fabric::Communicator&, const BenchSettings&);
};

/// The standard set.
std::span<const BenchCase> bench_cases();

}  // namespace wafer::app
