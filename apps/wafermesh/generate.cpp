// wafermesh generate: prompt in, text out token by token.
#include <algorithm>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/units.hpp"
#include "fabric/agree.hpp"
#include "io/file.hpp"
#include "io/json.hpp"
#include "kernels/gemm.hpp"
#include "model/sampler.hpp"
#include "tokenizer/tokenizer.hpp"
#include "wafermesh/common.hpp"

namespace wafer::app {

using fabric::Communicator;

namespace {

struct GenerateFlags {
  MeshFlags mesh;
  ModelFlags model;
  std::string prompt;
  std::string prompt_file;
  std::string prompt_ids;
  Index count = 64;
  model::Sampling sampling;
  bool ignore_eos = false;
};

struct Timing {
  double load = 0.0;
  double prefill = 0.0;
  double decode = 0.0;
};

// What was generated, on every rank.
struct Run {
  std::vector<Index> prompt;
  std::vector<Index> ids;
  Timing timing;
  std::uint64_t logits_hash = 0;  // rank 0
};

std::string prompt_text(const Communicator& world, const GenerateFlags& flags) {
  std::string text = flags.prompt;
  if (flags.prompt_file.empty()) return text;
  fabric::agree(world, [&] {
    if (world.is_root()) text = io::read_text(flags.prompt_file);
  });
  return world.broadcast(text, {0});
}

std::vector<Index> prompt_of(const Communicator& world, const GenerateFlags& flags,
                             const tokenizer::Tokenizer* tokenizer) {
  if (!flags.prompt_ids.empty()) return parse_ids(flags.prompt_ids);
  if (tokenizer == nullptr)
    throw InputError({.what = flags.model.model + " has no tokenizer.json", .remedy = "--prompt-ids 1,2,3"});
  return tokenizer->encode(prompt_text(world, flags));
}

Index next_token(const Communicator& world, model::Transformer& model, const model::Sampling& sampling,
                 Index step) {
  if (sampling.temperature <= 0.0) return model.greedy();
  const auto logits = model.logits();
  const Index drawn = world.is_root() ? model::sample(logits, sampling, static_cast<std::uint64_t>(step)) : 0;
  return world.broadcast(static_cast<std::int64_t>(drawn), {0});
}

void print_summary(const Communicator& world, const Run& run, const model::Transformer& model,
                   const GenerateFlags& flags, std::int64_t weights, std::int64_t memory) {
  const auto cores = model.decode_fabric().mesh().cores();
  const double decoded = std::max(1.0, static_cast<double>(run.ids.size()) - 1.0);
  if (!world.is_root() || flags.mesh.quiet) return;
  std::fprintf(
      stderr, "%s",
      fmt::format(
          "\nprompt     {} tokens, {:.1f} tokens/s\ndecode     {} tokens, {:.1f} tokens/s, {:.2f} ms/token\n"
          "mesh       prefill {}, decode {}, {} ranks as {} tiles, {} idle\nload       {:.2f} s\n"
          "weights    {} on all cores, {} a core; peak memory of all ranks {}\n",
          run.prompt.size(), static_cast<double>(run.prompt.size()) / run.timing.prefill, run.ids.size(),
          decoded / run.timing.decode, 1e3 * run.timing.decode / decoded,
          to_string(model.prefill_fabric().mesh()), to_string(model.decode_fabric().mesh()), world.size(),
          to_string(model.decode_fabric().tiling().grid()), model.decode_fabric().tiling().idle_ranks(),
          run.timing.load, format_bytes(weights), format_bytes(weights / cores), format_bytes(memory))
          .c_str());
}

void print_json(const Run& run, const GenerateFlags& flags, const std::string& text,
                const model::Transformer& model, std::int64_t memory) {
  const io::Json json = {{"model", flags.model.model},
                         {"prefill_mesh", to_string(model.prefill_fabric().mesh())},
                         {"decode_mesh", to_string(model.decode_fabric().mesh())},
                         {"ranks", model.decode_fabric().tiling().ranks()},
                         {"prompt_ids", run.prompt},
                         {"ids", run.ids},
                         {"text", text},
                         {"load_seconds", run.timing.load},
                         {"prefill_seconds", run.timing.prefill},
                         {"decode_seconds", run.timing.decode},
                         {"kv", flags.model.kv},
                         {"kv_occupancy", model.cache().occupancy()},
                         {"peak_memory_bytes", memory},
                         {"kernels", kernels::use_library()},
                         {"logits_hash", format_hash(run.logits_hash)}};
  std::printf("%s\n", io::to_text(json).c_str());
}

void check_room(const checkpoint::ModelConfig& config, Index prompt, Index count) {
  const Index most = config.longest_sequence();
  if (prompt + count <= most) return;
  throw FitError(
      {.what = "prompt and generation do not fit the model's context",
       .got = fmt::format("{} + {} tokens", prompt, count),
       .expected = fmt::format("at most {}", most),
       .remedy = prompt < most ? fmt::format("-n {}", most - prompt) : std::string("a shorter prompt")});
}

void check_vocabulary(const checkpoint::ModelConfig& config, const std::vector<Index>& ids) {
  for (const Index id : ids)
    if (id < 0 || id >= config.vocab)
      throw FitError({.what = fmt::format("token id {} is not in the vocabulary", id),
                      .expected = fmt::format("0 to {}", config.vocab - 1)});
}

int generate(const Communicator& world, const GenerateFlags& flags) {
  const auto checkpoint = open_model(world, flags.model.model);
  const auto& config = checkpoint.config();
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
  if (!checkpoint.tokenizer_json().empty())
    tokenizer = std::make_unique<tokenizer::Tokenizer>(checkpoint.tokenizer_json(), "tokenizer.json");
  Run run;
  run.prompt = prompt_of(world, flags, tokenizer.get());
  check_vocabulary(config, run.prompt);
  check_room(config, static_cast<Index>(run.prompt.size()), flags.count);

  double start = now();
  model::Transformer model(
      world, checkpoint, flags.model.options(flags.mesh, world), true, [&](Index layers) {
        show_progress(world, flags.mesh.quiet, fmt::format("loading {} of {} layers", layers, config.layers));
      });
  run.timing.load = now() - start;
  show_progress(world, flags.mesh.quiet, "prefill");
  start = now();
  model.prefill(run.prompt);
  Index next = next_token(world, model, flags.sampling, 0);
  run.timing.prefill = now() - start;
  show_progress(world, flags.mesh.quiet, "");
  model.transition();

  std::unique_ptr<tokenizer::DecodeStream> stream;
  if (tokenizer) stream = std::make_unique<tokenizer::DecodeStream>(*tokenizer);
  std::string text;
  const auto print = [&](const std::string& piece) {
    text += piece;
    if (!world.is_root() || flags.mesh.json) return;
    std::fwrite(piece.data(), 1, piece.size(), stdout);
    std::fflush(stdout);
  };
  const auto emit = [&](Index id) {
    run.ids.push_back(id);
    print(stream ? stream->push(id) : (run.ids.size() > 1 ? "," : "") + std::to_string(id));
  };
  const auto ends = [&](Index id) {
    return !flags.ignore_eos &&
           std::find(config.eos_ids.begin(), config.eos_ids.end(), id) != config.eos_ids.end();
  };
  if (!flags.mesh.quiet && tokenizer && flags.prompt_ids.empty() && !flags.mesh.json && world.is_root())
    std::printf("%s", tokenizer->decode(run.prompt).c_str());
  start = now();
  while (static_cast<Index>(run.ids.size()) < flags.count && !ends(next)) {
    emit(next);
    if (static_cast<Index>(run.ids.size()) == flags.count) break;
    model.decode(next);
    next = next_token(world, model, flags.sampling, static_cast<Index>(run.ids.size()));
  }
  run.timing.decode = now() - start;
  if (stream) print(stream->finish());
  print("\n");
  const auto logits = model.logits();
  run.logits_hash = hash_bytes(std::as_bytes(std::span(logits)));
  const auto weights = world.sum(model.weight_bytes());
  const auto memory = world.sum(peak_memory());
  if (flags.mesh.json && world.is_root()) print_json(run, flags, text, model, memory);
  if (!flags.mesh.json) print_summary(world, run, model, flags, weights, memory);
  return static_cast<int>(ExitCode::good);
}

}  // namespace

void add_generate(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("generate", "prompt in, text out token by token");
  const auto flags = std::make_shared<GenerateFlags>();
  flags->mesh.add_to(*command);
  flags->model.add_to(*command);
  auto* text = command->add_option("-p,--prompt", flags->prompt, "the prompt");
  auto* file = command->add_option("-f,--file", flags->prompt_file, "a file with the prompt");
  auto* ids = command->add_option("--prompt-ids", flags->prompt_ids, "the prompt as token ids, 1,2,3");
  text->excludes(file)->excludes(ids);
  file->excludes(ids);
  command->add_option("-n,--tokens", flags->count, "tokens to generate at most")
      ->check(CLI::Range(Index{1}, Index{1} << 30))
      ->capture_default_str();
  command->add_option("--temperature", flags->sampling.temperature, "0 takes the likeliest token")
      ->check(CLI::Range(0.0, 1e6));
  command->add_option("--top-k", flags->sampling.top_k, "draw from the k likeliest; 0: all")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--top-p", flags->sampling.top_p, "draw from the likeliest that reach this probability")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--seed", flags->sampling.seed,
                      "of the draws; equal seeds give equal text on any ranks");
  command->add_flag("--ignore-eos", flags->ignore_eos, "go on after an end-of-sequence token");
  command->footer("Example: mpirun -n 2 wafermesh generate --mesh 8x8 -p \"Call me\" -n 16");
  command->callback(
      [&chosen, flags] { chosen = [flags](const Communicator& world) { return generate(world, *flags); }; });
}

}  // namespace wafer::app
