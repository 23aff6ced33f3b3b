#include "wafermesh/common.hpp"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include <sys/resource.h>
#include <unistd.h>

#include "core/error.hpp"
#include "fabric/agree.hpp"

namespace wafer::app {

void MeshFlags::add_to(CLI::App& command) {
  command.add_option("--mesh", mesh, "emulated cores, rows x columns, as in 8x8 (default: one a rank)");
  command.add_option("--ranks-grid", ranks_grid,
                     "how the ranks tile the mesh, rows x columns (default: smallest tiles)");
  command.add_option("--threads", threads, "threads of each rank; changes no result")
      ->check(CLI::Range(1, 1024));
  command.add_flag("--json", json, "print one JSON object");
  command.add_flag("--quiet", quiet, "no progress and no summary");
}

mesh::Mesh MeshFlags::mesh_for(const fabric::Communicator& world) const {
  return mesh.empty() ? mesh::Mesh{1, world.size()} : mesh::parse_mesh(mesh, "--mesh");
}

std::optional<mesh::Mesh> MeshFlags::grid() const {
  if (ranks_grid.empty()) return std::nullopt;
  return mesh::parse_mesh(ranks_grid, "--ranks-grid");
}

void ModelFlags::add_to(CLI::App& command) {
  model = default_model();
  command.add_option("--model", model, "a Hugging Face directory, or an .h5 file of `wafermesh convert`")
      ->capture_default_str();
  command.add_option("--decode-mesh", decode_mesh, "another mesh for decode (default: the same)");
  command.add_option("--kv", kv, "where new tokens go in the KV cache: shift or concat")
      ->capture_default_str();
}

model::Options ModelFlags::options(const MeshFlags& flags, const fabric::Communicator& world) const {
  model::Options options;
  options.prefill_mesh = flags.mesh_for(world);
  options.decode_mesh =
      decode_mesh.empty() ? options.prefill_mesh : mesh::parse_mesh(decode_mesh, "--decode-mesh");
  options.ranks_grid = flags.grid();
  options.threads = flags.threads;
  options.kv = kv::parse_policy(kv);
  return options;
}

std::string default_model() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto installed = program.parent_path() / ".." / "share" / "wafermesh" / "folio";
  if (!error && std::filesystem::exists(installed, error)) return installed.lexically_normal().string();
  if (std::filesystem::exists("data/folio", error)) return "data/folio";
  return WAFERMESH_SOURCE_DATA "/folio";
}

checkpoint::Checkpoint open_model(const fabric::Communicator& world, const std::string& path) {
  std::optional<checkpoint::Checkpoint> model;
  fabric::agree(world, [&] { model.emplace(path); });
  return std::move(*model);
}

std::vector<Index> parse_ids(const std::string& text) {
  std::vector<Index> ids;
  const char* next = text.data();
  const char* const end = next + text.size();
  while (true) {
    Index id = 0;
    const auto [stop, error] = std::from_chars(next, end, id);
    if (error != std::errc{} || (stop != end && *stop != ','))
      throw UsageError({.what = "--prompt-ids",
                        .got = "\"" + text + "\"",
                        .expected = "numbers with commas between them, as in 1,2,3"});
    ids.push_back(id);
    if (stop == end) return ids;
    next = stop + 1;
  }
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void show_progress(const fabric::Communicator& world, bool quiet, const std::string& line) {
  if (quiet || !world.is_root() || isatty(STDERR_FILENO) == 0) return;
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
}

std::int64_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace wafer::app
