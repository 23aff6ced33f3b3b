#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "study/workload.hpp"
#include "wafermesh/device.hpp"

namespace wafer::app {

/// What can be scaled.
struct ScaleOperation {
  std::string name;
  Index usual_size;
  std::string usual_algorithm;
  double growth;  // of the size with the ranks, as their power, so that the work of each stays: weak scaling
  std::set<std::string> (*algorithms)();
};
/// @throws UsageError
const ScaleOperation& scale_operation(const std::string& name);

/// What all configurations of one experiment share.
struct ScaleSettings {
  std::string op = "gemm";
  std::string model;
  DeviceFlags device;
  int threads = 1;
  Index prompt = 8;

  void add_to(CLI::App& command);
};

/// One configuration.
struct ScalePoint {
  std::string algorithm;
  mesh::Mesh mesh;
  Index base_size = 0;  // as asked for
  Index size = 0;       // grown where the scaling is weak
  int ranks = 1;
};

/// What an operation costs on a device.
struct DeviceCost {
  double cycles = 0.0;
  double exposed = 0.0;  // communication, mean over the cores [cycles]
  std::int64_t words = 0;
};

/// What was measured of a configuration.
struct ScaleRow {
  ScalePoint point;
  std::vector<double> samples;  // seconds of the slowest rank
  double flops = 0.0;
  double balance = 0.0;  // mean over the ranks of the cores that they emulate, by the most
  std::optional<double> error;
  std::uint64_t hash = 0;
  std::optional<DeviceCost> device;
  // Filled in by complete():
  double speedup = 0.0;
  double efficiency = 0.0;
  bool comparable = true;  // no more ranks than CPUs
  bool good = false;
};

/// One configuration on the first ranks of a launch. Members are collective over all of its ranks; those that
/// have no part return at once.
class ScaleCase {
public:
  /// @throws UserError, on all ranks alike
  ScaleCase(const fabric::Communicator& world, const ScaleSettings& settings, const ScalePoint& point);
  ~ScaleCase();
  ScaleCase(const ScaleCase&) = delete;
  ScaleCase& operator=(const ScaleCase&) = delete;

  /// @return seconds of the slowest rank, at rank 0
  double run();
  /// Checks the last run and counts what the operation costs on the device.
  void finish(ScaleRow& row);

private:
  struct Parts;  // what the ranks with a part in it have
  ScaleSettings settings_;
  ScalePoint point_;
  fabric::Communicator group_;  // the ranks that work, or those that do not
  bool works_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace wafer::app
