#include "wafermesh/common.hpp"

#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <sys/resource.h>

#include "core/error.hpp"
#include "fabric/agree.hpp"
#include "wafermesh/ledger.hpp"

namespace wafer::app {

void MeshFlags::add_to(CLI::App& command) {
  command.add_option("--mesh", mesh, "emulated cores, rows x columns, as in 8x8 (default: one a rank)");
  command.add_option("--ranks-grid", ranks_grid,
                     "how the ranks tile the mesh, rows x columns (default: smallest tiles)");
  command.add_option("--threads", threads, "threads of each rank; changes no result")
      ->check(CLI::Range(1, 1024));
}

mesh::Tiling MeshFlags::tiling(const fabric::Communicator& world) const {
  const mesh::Mesh cores = mesh.empty() ? mesh::Mesh{1, world.size()} : mesh::parse_mesh(mesh, "--mesh");
  return {cores, world.size(), grid()};
}

std::optional<mesh::Mesh> MeshFlags::grid() const {
  if (ranks_grid.empty()) return std::nullopt;
  return mesh::parse_mesh(ranks_grid, "--ranks-grid");
}

std::set<std::string> gemm_names() {
  auto names = names_of(ops::gemm_algorithms());
  names.insert("mesh-t");
  return names;
}

void ModelFlags::add_to(CLI::App& command) {
  model = default_model();
  command.add_option("--model", model, "a Hugging Face directory, or an .h5 file of `wafermesh convert`")
      ->capture_default_str();
  command.add_option("--decode-mesh", decode_mesh, "another mesh for decode (default: the same)");
  command.add_option("--kv", kv, "where new tokens go in the KV cache: shift, concat or round-robin")
      ->capture_default_str();
  command.add_option("--gemm", gemm, "prefill's products with weights")
      ->check(CLI::IsMember(names_of(ops::gemm_algorithms())))
      ->capture_default_str();
  command.add_option("--allreduce", allreduce, "how lines of cores add up")
      ->check(CLI::IsMember(names_of(fabric::all_reduce_algorithms())))
      ->capture_default_str();
  device.add_to(command);
}

ModelTime::ModelTime(const ModelFlags& flags, const fabric::Communicator& world, model::Options& options)
    : first(flags.device.execution(world, options.prefill_mesh)) {
  if (!(options.prefill_mesh == options.decode_mesh))
    second = flags.device.execution(world, options.decode_mesh);
  options.prefill_execution = first.get();
  options.decode_execution = second ? second.get() : first.get();
}

void ModelTime::add_to(Result& result) const {
  if (second) add_ledger(result, first.get(), "prefill_ledger");
  add_ledger(result, second ? second.get() : first.get());
}

model::Options ModelFlags::options(const MeshFlags& flags, const fabric::Communicator& world) const {
  model::Options options;
  options.prefill_mesh = flags.tiling(world).mesh();
  options.decode_mesh =
      decode_mesh.empty() ? options.prefill_mesh : mesh::parse_mesh(decode_mesh, "--decode-mesh");
  options.ranks_grid = flags.grid();
  const mesh::Tiling fits(options.decode_mesh, world.size(), options.ranks_grid);
  options.threads = flags.threads;
  options.kv = kv::parse_policy(kv);
  options.gemm = gemm;
  options.tree.algorithm = &fabric::all_reduce_algorithm(allreduce);
  options.storage = device.storage_type();
  return options;
}

std::string default_model() { return data_file("folio"); }

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

void check_prompt(const checkpoint::ModelConfig& config, const std::vector<Index>& ids, Index count) {
  if (ids.empty()) throw FitError({.what = "the prompt has no tokens", .remedy = "-p TEXT"});
  for (const Index id : ids)
    if (id < 0 || id >= config.vocab)
      throw FitError({.what = fmt::format("token id {} is not in the vocabulary", id),
                      .expected = fmt::format("0 to {}", config.vocab - 1)});
  const Index most = config.longest_sequence();
  const auto prompt = static_cast<Index>(ids.size());
  if (prompt + count <= most) return;
  throw FitError(
      {.what = "the sequence does not fit the model's context",
       .got = count == 0 ? fmt::format("{} tokens", prompt)
                         : fmt::format("{} tokens of prompt and {} to generate", prompt, count),
       .expected = fmt::format("at most {}", most),
       .remedy = prompt < most ? fmt::format("-n {}", most - prompt) : std::string("a shorter prompt")});
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::int64_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::ifstream rollup("/proc/self/smaps_rollup");
  std::int64_t mapped = 0, share = 0, value = 0;  // share: of a page of n processes, an n-th
  for (std::string word; rollup >> word;) {
    if (word == "Rss:" && rollup >> value) mapped = value;
    if (word == "Pss:" && rollup >> value) share = value;
  }
  return (std::int64_t{usage.ru_maxrss} - (mapped - share)) * 1024;
}

}  // namespace wafer::app
