#pragma once

#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "core/dtype.hpp"
#include "fabric/communicator.hpp"
#include "io/json.hpp"
#include "plmr/execution.hpp"
#include "wafermesh/output.hpp"

namespace wafer::app {

/// A file of data/: where it is installed, in ./data, or in the source tree.
std::string data_file(const std::string& name);

/// The flags of virtual time: without --device nobody keeps it.
struct DeviceFlags {
  std::string device;
  std::string storage;
  bool critical_path = false;

  /// @param otherwise  device that is meant without the flag; empty: none
  void add_to(CLI::App& command, const std::string& otherwise = "");
  bool given() const { return !device.empty(); }
  /// What stored blocks are rounded to; float32 without --storage.
  DType storage_type() const;
  /// Bytes an element that the device is charged for: 2 without --storage.
  plmr::Precision precision() const;
  /// The device of that name, or of that file. Collective. @throws InputError
  plmr::Device open(const fabric::Communicator& world) const;
  /// An execution on it; null without --device. Collective.
  /// @throws FitError for a mesh that is larger than the device
  std::unique_ptr<plmr::Execution> execution(const fabric::Communicator& world, mesh::Mesh mesh) const;
};

/// A mesh must lie on the device, either way round. @throws FitError
void check_grid(const plmr::Device& device, mesh::Mesh mesh);

}  // namespace wafer::app
