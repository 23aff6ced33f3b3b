#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "checkpoint/checkpoint.hpp"
#include "fabric/communicator.hpp"
#include "model/transformer.hpp"
#include "wafermesh/device.hpp"
#include "wafermesh/output.hpp"

namespace wafer::app {

/// What a subcommand does once the command line is read; collective. Returns the program's exit code.
using Action = std::function<int(const fabric::Communicator&)>;

/// The flags that every subcommand on the mesh has, as typed.
struct MeshFlags {
  std::string mesh;
  std::string ranks_grid;
  int threads = 1;

  void add_to(CLI::App& command);
  /// How the mesh lies on the ranks; without --mesh one core a rank, in a row.
  /// @throws UsageError, FitError
  mesh::Tiling tiling(const fabric::Communicator& world) const;
  std::optional<mesh::Mesh> grid() const;
};

/// The names of a registry's entries.
template <class Entries>
std::set<std::string> names_of(const Entries& entries) {
  std::set<std::string> names;
  for (const auto& entry : entries) names.emplace(entry.name);
  return names;
}

/// What gemm's --algorithm may be: the registry's names, and mesh-t.
std::set<std::string> gemm_names();

/// Flags of what runs a model.
struct ModelFlags {
  std::string model;
  std::string decode_mesh;
  std::string kv = "shift";
  std::string gemm = "mesh";
  std::string allreduce = "ktree";
  DeviceFlags device;

  void add_to(CLI::App& command);
  /// @throws UsageError, FitError: whatever can be wrong before the model is opened
  model::Options options(const MeshFlags& flags, const fabric::Communicator& world) const;
};

/// The virtual time of a model's two meshes, one object where they are the same; none without --device.
struct ModelTime {
  /// Collective; puts the executions into the options. @throws InputError, FitError
  ModelTime(const ModelFlags& flags, const fabric::Communicator& world, model::Options& options);
  /// Adds the ledgers as "ledger", or as "prefill_ledger" and "ledger".
  void add_to(Result& result) const;

  std::unique_ptr<plmr::Execution> first, second;
};

/// data/folio, where it is installed or in the source tree.
std::string default_model();

/// Opens a model on every rank; all fail alike. Collective.
checkpoint::Checkpoint open_model(const fabric::Communicator& world, const std::string& path);

/// "1,2,3" to ids. @throws UsageError
std::vector<Index> parse_ids(const std::string& text);

/// @throws FitError for no tokens, an id that is not in the vocabulary, or more tokens than the context has
/// room for when `count` more are to follow.
void check_prompt(const checkpoint::ModelConfig& config, const std::vector<Index>& ids, Index count);

/// Seconds since an arbitrary start.
double now();

/// Memory that this process had at most; of pages that other processes have, too, now, its share. [bytes]
std::int64_t peak_memory();

/// Each adds its subcommand and returns its action through `chosen` when the command line names it.
void add_generate(CLI::App& app, Action& chosen);
void add_verify(CLI::App& app, Action& chosen);
void add_gemm(CLI::App& app, Action& chosen);
void add_gemv(CLI::App& app, Action& chosen);
void add_allreduce(CLI::App& app, Action& chosen);
void add_scale(CLI::App& app, Action& chosen);
void add_bench(CLI::App& app, Action& chosen);
void add_predict(CLI::App& app, Action& chosen);
void add_reproduce(CLI::App& app, Action& chosen);
void add_convert(CLI::App& app, Action& chosen);
void add_inspect(CLI::App& app, Action& chosen);

}  // namespace wafer::app
