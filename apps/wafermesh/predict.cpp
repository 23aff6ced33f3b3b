// wafermesh predict: a dry run of a whole model on a device.
#include "study/predict.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "fabric/agree.hpp"
#include "io/file.hpp"
#include "plmr/compliance.hpp"
#include "report/ledger_report.hpp"
#include "study/published.hpp"
#include "wafermesh/common.hpp"
#include "wafermesh/ledger.hpp"

namespace wafer::app {

using fabric::Communicator;
using study::Prediction, study::PredictRequest;

namespace {

struct PredictFlags {
  OutputFlags output;
  DeviceFlags device;
  std::string model;
  std::string prefill_mesh, decode_mesh;
  std::string kv = "shift";
  std::string autotune;
  std::vector<Index> grids;
  Index input = 4096, output_tokens = 128;
  Index groups = 0, levels = 2;
  bool as_benchmarked = false;
  bool every_layer = false;
  bool strict_memory = false;
};

// A name of data/configs, a config.json, or a directory with one.
std::string config_path(const std::string& model) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::is_directory(model, error)) return (fs::path(model) / "config.json").string();
  const std::string shipped = data_file("configs/" + model + ".json");
  return !fs::exists(model, error) && fs::exists(shipped, error) ? shipped : model;
}

PredictRequest request_of(const Communicator& world, const PredictFlags& flags) {
  PredictRequest request;
  request.device = flags.device.open(world);
  fabric::agree(world, [&] {
    const std::string path = config_path(flags.model);
    request.config = checkpoint::parse_config(io::read_text(path), "", path);
  });
  request.precision = flags.device.precision();
  request.prefill_mesh = mesh::parse_mesh(flags.prefill_mesh, "--prefill-mesh");
  request.decode_mesh = mesh::parse_mesh(flags.decode_mesh, "--decode-mesh");
  for (const mesh::Mesh mesh : {request.prefill_mesh, request.decode_mesh}) check_grid(request.device, mesh);
  if (flags.groups > request.decode_mesh.height || flags.groups > request.decode_mesh.width)
    throw FitError({.what = "--groups",
                    .got = std::to_string(flags.groups),
                    .expected = "at most a line's cores of " + to_string(request.decode_mesh)});
  request.input = flags.input;
  request.output = flags.output_tokens;
  request.kv = kv::parse_policy(flags.kv);
  request.tree = {flags.levels, flags.groups};
  request.every_layer = flags.every_layer;
  request.traced = flags.device.critical_path;
  return request;
}

// What one request takes on the device, in seconds and rates.
struct Times {
  double prefill, transition, decode;            // [s]
  double prefill_rate, decode_rate, end_to_end;  // tokens/s
  double joules;                                 // an output token, everything together
};

Times times_of(const PredictRequest& request, const Prediction& p) {
  const double clock = request.device.clock_hz;
  Times times{p.prefill / clock, p.transition / clock, p.decode / clock, 0, 0, 0, 0};
  const auto input = static_cast<double>(request.input), output = static_cast<double>(request.output);
  const double all = times.prefill + times.transition + times.decode;
  times.prefill_rate = input / times.prefill;
  times.decode_rate = output / times.decode;
  times.end_to_end = output / all;
  times.joules = request.device.power_watts * all / output;
  return times;
}

std::string regions_text(const PredictRequest& request, const study::Regions& r) {
  if (r.layers == 0)
    return fmt::format("regions     not one layer of {} a core fits into {}\n", format_bytes(r.layer_bytes),
                       format_bytes(request.device.sram_bytes));
  return fmt::format(
      "regions     {} of {} with up to {} layers each, {:.0f}% of them at work at a time; {} are "
      "there{}\n",
      r.count, to_string(request.decode_mesh), r.layers, 100.0 / static_cast<double>(r.count), r.most,
      r.count > r.most ? ": DOES NOT FIT" : "");
}

// The authors' workload beside the true one, where they have one: square meshes.
void add_benchmarked(Result& result, const PredictRequest& request) {
  const auto square = [](mesh::Mesh mesh) { return mesh.height == mesh.width; };
  if (!square(request.prefill_mesh) || !square(request.decode_mesh)) {
    result.text += "as benchmarked  only on square meshes\n";
    return;
  }
  const auto& config = request.config;
  const study::BenchmarkedModel model{config.model_type, config.hidden, config.ffn, config.layers,
                                      config.kv_heads * config.head_dim};
  const double prefill = model.prefill_rate(request.device, request.prefill_mesh.width, request.input);
  const double decode = model.decode_rate(request.device, request.decode_mesh.width, request.input);
  const auto output = static_cast<double>(request.output);
  const double end_to_end = output / (static_cast<double>(request.input) / prefill + output / decode);
  result.json["as_benchmarked"] = {{"prefill_tokens_per_s", prefill},
                                   {"decode_tokens_per_s", decode},
                                   {"end_to_end_tokens_per_s", end_to_end}};
  result.text += fmt::format(
      "as benchmarked  prefill {:.1f} tokens/s, decode {:.1f} tokens/s, end to end {:.1f} tokens/s (one "
      "head, no "
      "mask, padded, no transition)\n",
      prefill, decode, end_to_end);
}

Result to_result(const PredictFlags& flags, const PredictRequest& request, const Prediction& p) {
  const Times times = times_of(request, p);
  const auto output = static_cast<double>(request.output);
  Result result;
  result.json = {{"model", flags.model},
                 {"device", request.device.name},
                 {"prefill_mesh", to_string(request.prefill_mesh)},
                 {"decode_mesh", to_string(request.decode_mesh)},
                 {"input", request.input},
                 {"output", request.output},
                 {"prefill_cycles", p.prefill},
                 {"transition_cycles", p.transition},
                 {"decode_cycles", p.decode},
                 {"prefill_seconds", times.prefill},
                 {"transition_seconds", times.transition},
                 {"decode_seconds", times.decode},
                 {"prefill_tokens_per_s", times.prefill_rate},
                 {"decode_tokens_per_s", times.decode_rate},
                 {"end_to_end_tokens_per_s", times.end_to_end},
                 {"joules_per_output_token", times.joules},
                 {"regions",
                  {{"count", p.regions.count},
                   {"layers", p.regions.layers},
                   {"layer_bytes", p.regions.layer_bytes},
                   {"on_the_device", p.regions.most}}},
                 {"every_layer", request.every_layer}};
  const auto line = [&](const char* name, double cycles, double seconds, const std::string& rate) {
    return fmt::format("{:<12}{:>16.0f} cycles{:>12.4g} s  {}\n", name, cycles, seconds, rate);
  };
  std::string head = fmt::format(
      "{} on {}, prefill {}, decode {}, {} tokens in, {} out{}\n", flags.model, request.device.name,
      to_string(request.prefill_mesh), to_string(request.decode_mesh), request.input, request.output,
      request.every_layer ? ""
                          : "; alike layers and stretches of tokens are run once warm and "
                            "multiplied");
  head += line("prefill", p.prefill, times.prefill, fmt::format("{:.1f} tokens/s", times.prefill_rate));
  head += line("transition", p.transition, times.transition, "weights and cache to the decode mesh");
  head += line("decode", p.decode, times.decode,
               fmt::format("{:.1f} tokens/s, {:.0f} cycles a token", times.decode_rate, p.decode / output));
  head += fmt::format("end to end  {:.1f} tokens/s, {:.1f} J an output token at {:.0f} W\n", times.end_to_end,
                      times.joules, request.device.power_watts);
  head += regions_text(request, p.regions);
  if (p.decode_execution) add_ledger(result, p.prefill_execution.get(), "prefill_ledger");
  add_ledger(result, &p.decoding());
  result.text = head + result.text;
  if (flags.as_benchmarked) add_benchmarked(result, request);
  return result;
}

// One searched configuration.
struct Trial {
  Index grid = 0, groups = 0;  // groups 0: prefill
  double cycles = 0.0;
};

std::vector<Trial> trials_of(const PredictFlags& flags, const PredictRequest& request) {
  std::vector<Trial> trials;
  const mesh::Mesh most = request.device.grid();
  for (const Index grid : flags.grids) {
    if (grid < 1 || grid > std::min(most.height, most.width)) continue;
    if (flags.autotune != "decode") trials.push_back({grid, 0, 0.0});
    if (flags.autotune == "prefill") continue;
    const Index usual = mesh::default_groups(grid, request.tree.levels);
    std::vector<Index> groups = {std::max(Index{1}, usual / 2), usual, std::min(grid, usual * 2)};
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    for (const Index count : groups) trials.push_back({grid, count, 0.0});
  }
  if (trials.empty())
    throw FitError({.what = "--grids", .expected = "grids that lie on " + request.device.name});
  return trials;
}

// The ranks share the trials.
void run_trials(const Communicator& world, const PredictFlags& flags, const PredictRequest& request,
                std::vector<Trial>& trials) {
  const Communicator self = world.split(world.rank().value, 0);
  std::vector<double> cycles(trials.size(), 0.0);
  for (std::size_t t = 0; t < trials.size(); ++t) {
    if (t % static_cast<std::size_t>(world.size()) != static_cast<std::size_t>(world.rank().value)) continue;
    show_progress(world, flags.output.quiet, fmt::format("grid {} of {}", t + 1, trials.size()));
    PredictRequest one = request;
    one.prefill_mesh = one.decode_mesh = {trials[t].grid, trials[t].grid};
    one.tree.groups = trials[t].groups;
    cycles[t] = trials[t].groups == 0 ? study::predict_prefill(self, one) : study::predict_decode(self, one);
  }
  show_progress(world, flags.output.quiet, "");
  world.sum(cycles);
  for (std::size_t t = 0; t < trials.size(); ++t) trials[t].cycles = cycles[t];
}

// The best grids, and the table they were found in. Decode must fit the wafer in regions.
Result search(const Communicator& world, const PredictFlags& flags, PredictRequest& request) {
  auto trials = trials_of(flags, request);
  run_trials(world, flags, request, trials);
  Result result;
  const double clock = request.device.clock_hz;
  result.text = fmt::format("{:<10}{:>8}{:>8}{:>16}{:>12}  {}\n", "phase", "grid", "groups", "cycles",
                            "tokens/s", "regions");
  io::Json rows = io::Json::array();
  const Trial* best[2] = {nullptr, nullptr};
  for (const Trial& trial : trials) {
    const bool decode = trial.groups > 0;
    PredictRequest one = request;
    one.decode_mesh = {trial.grid, trial.grid};
    const auto regions = study::regions_of(one);
    const bool fits = !decode || (regions.layers > 0 && regions.count <= regions.most);
    const auto tokens = static_cast<double>(decode ? request.output : request.input);
    const double rate = tokens * clock / trial.cycles;
    result.text += fmt::format(
        "{:<10}{:>8}{:>8}{:>16.0f}{:>12.1f}  {}\n", decode ? "decode" : "prefill", trial.grid,
        decode ? std::to_string(trial.groups) : "", trial.cycles, rate,
        decode ? fmt::format("{} of {}{}", regions.count, regions.most, fits ? "" : ": no room") : "");
    rows.push_back({{"phase", decode ? "decode" : "prefill"},
                    {"grid", trial.grid},
                    {"groups", trial.groups},
                    {"cycles", trial.cycles},
                    {"tokens_per_s", rate},
                    {"fits", fits}});
    const Trial*& leader = best[decode ? 1 : 0];
    if (fits && (leader == nullptr || trial.cycles < leader->cycles)) leader = &trial;
  }
  result.json["searched"] = rows;
  if (best[0] != nullptr) request.prefill_mesh = {best[0]->grid, best[0]->grid};
  if (best[1] != nullptr) {
    request.decode_mesh = {best[1]->grid, best[1]->grid};
    request.tree.groups = best[1]->groups;
  } else if (flags.autotune != "prefill") {
    result.text += "no grid has room for decode\n";
  }
  return result;
}

int run_predict(const Communicator& world, const PredictFlags& flags) {
  flags.output.check(world);
  PredictRequest request = request_of(world, flags);
  Result searched;
  if (!flags.autotune.empty()) searched = search(world, flags, request);
  const Communicator self = world.split(world.rank().value, 0);
  std::optional<Prediction> prediction;
  show_progress(world, flags.output.quiet, "dry run");
  at_root(world, [&] { prediction = study::predict(self, request); });
  show_progress(world, flags.output.quiet, "");
  bool fits = true;
  flags.output.deliver(world, [&] {
    Result result = to_result(flags, request, *prediction);
    const auto& regions = prediction->regions;
    fits = regions.layers > 0 && regions.count <= regions.most &&
           plmr::compliance(*prediction->prefill_execution).memory.met;
    if (!flags.autotune.empty()) {
      result.json.update(searched.json);
      result.text = searched.text + result.text;
    }
    return result;
  });
  fits = world.broadcast(static_cast<std::int64_t>(fits), {0}) != 0;
  return static_cast<int>(fits || !flags.strict_memory ? ExitCode::good : ExitCode::does_not_fit);
}

}  // namespace

void add_predict(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("predict", "a model on a device, dry: cycles, tokens/s, memory, PLMR");
  const auto flags = std::make_shared<PredictFlags>();
  flags->output.add_to(*command);
  flags->device.add_to(*command, "wse2");
  command
      ->add_option("--model", flags->model,
                   "llama3-8b, llama2-13b, codellama-34b, qwen2-72b, a config.json, or a model's directory")
      ->required();
  flags->prefill_mesh = "660x660";
  flags->decode_mesh = "360x360";
  command->add_option("--prefill-mesh", flags->prefill_mesh, "cores of prefill")->capture_default_str();
  command->add_option("--decode-mesh", flags->decode_mesh, "cores of decode, of one region")
      ->capture_default_str();
  const auto tokens = CLI::Range(Index{1}, Index{1} << 24);
  command->add_option("--input", flags->input, "tokens of the prompt")->check(tokens)->capture_default_str();
  command->add_option("--output", flags->output_tokens, "tokens to generate")
      ->check(tokens)
      ->capture_default_str();
  command->add_option("--kv", flags->kv, "where new tokens go in the KV cache: shift, concat or round-robin")
      ->capture_default_str();
  command
      ->add_option("--groups", flags->groups,
                   "groups of the K-trees' first level; 0: near the root of a line")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--levels", flags->levels, "K: levels of the trees")->check(CLI::Range(1, 16));
  command
      ->add_option("--autotune", flags->autotune,
                   "search grids and groups for the best prefill, decode or e2e")
      ->check(CLI::IsMember({"prefill", "decode", "e2e"}));
  flags->grids = {240, 300, 360, 420, 480, 540, 600, 660, 720};
  command->add_option("--grids", flags->grids, "grids to search, as in 240,360,480")->delimiter(',');
  command->add_flag("--as-benchmarked", flags->as_benchmarked, "also what the paper's authors timed");
  command->add_flag("--every-layer", flags->every_layer, "run every layer and every token: exact, slow");
  command->add_flag("--strict-memory", flags->strict_memory,
                    "exit code 4 where a core's memory is too small");
  command->footer(
      "Example: mpirun -n 2 wafermesh predict --model llama3-8b --device wse2 --prefill-mesh 240x240 "
      "--decode-mesh 120x120 --input 512 --output 32");
  command->callback([&chosen, flags] {
    chosen = [flags](const Communicator& world) { return run_predict(world, *flags); };
  });
}

}  // namespace wafer::app
