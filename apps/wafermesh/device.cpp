#include "wafermesh/device.hpp"

#include <algorithm>
#include <filesystem>

#include "core/error.hpp"
#include "fabric/agree.hpp"
#include "report/device_file.hpp"

namespace wafer::app {

std::string data_file(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto program = fs::read_symlink("/proc/self/exe", error);
  const auto installed = program.parent_path() / ".." / "share" / "wafermesh" / name;
  if (!error && fs::exists(installed, error)) return installed.lexically_normal().string();
  if (fs::exists("data/" + name, error)) return "data/" + name;
  return WAFERMESH_SOURCE_DATA "/" + name;
}

void DeviceFlags::add_to(CLI::App& command, const std::string& otherwise) {
  device = otherwise;
  command
      .add_option("--device", device, "cycles on this device: wse2, wse3, wormhole, or a file like theirs")
      ->capture_default_str();
  command
      .add_option("--storage", storage, "round what is stored to fp16 or bf16, or charge the device for fp32")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}));
  command.add_flag("--critical-path", critical_path,
                   "stages, hops and compute behind the last core to finish");
}

DType DeviceFlags::storage_type() const {
  return storage == "fp16" ? DType::f16 : storage == "bf16" ? DType::bf16 : DType::f32;
}

plmr::Precision DeviceFlags::precision() const { return {storage == "fp32" ? 4 : 2, false}; }

plmr::Device DeviceFlags::open(const fabric::Communicator& world) const {
  plmr::Device description;
  fabric::agree(world, [&] {
    std::error_code error;
    const std::string shipped = data_file("devices/" + device + ".json");
    if (!std::filesystem::exists(device, error) && !std::filesystem::exists(shipped, error))
      throw InputError(
          {.what = "no device \"" + device + "\"", .expected = "wse2, wse3, wormhole or a file"});
    description = report::read_device(std::filesystem::exists(shipped, error) ? shipped : device);
  });
  return description;
}

std::unique_ptr<plmr::Execution> DeviceFlags::execution(const fabric::Communicator& world,
                                                        mesh::Mesh mesh) const {
  if (!given()) return nullptr;
  const plmr::Device description = open(world);
  check_grid(description, mesh);
  return std::make_unique<plmr::Execution>(description, mesh, precision(), critical_path);
}

void check_grid(const plmr::Device& device, mesh::Mesh mesh) {
  const auto fits = [&](mesh::Mesh turned) {
    return mesh.height <= turned.height && mesh.width <= turned.width;
  };
  const mesh::Mesh grid = device.grid();
  if (fits(grid) || fits({grid.width, grid.height})) return;
  throw FitError({.what = "the mesh is larger than the device " + device.name,
                  .got = to_string(mesh),
                  .expected = "at most " + to_string(grid) + " cores"});
}

}  // namespace wafer::app
