// wafermesh generate: prompt in, text out token by token.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/units.hpp"
#include "io/file.hpp"
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
  OutputFlags output;
  std::string prompt;
  std::string prompt_file;
  std::string prompt_ids;
  Index count = 64;
  model::Sampling sampling;
  bool ignore_eos = false;
  bool show_cache = false;
};

struct Timing {
  double load = 0.0;
  double prefill = 0.0;
  double decode = 0.0;
  double device = 0.0;
};

// Of all ranks. [bytes]
struct Memory {
  std::int64_t weights = 0;
  std::int64_t cache = 0;
  std::int64_t peak = 0;
};

class Generation {
public:
  Generation(const Communicator& world, const GenerateFlags& flags)
      : world_(world),
        flags_(flags),
        options_(flags.model.options(flags.mesh, world)),
        timed_options_(options_),
        time_(flags.model, world, timed_options_),
        checkpoint_(open_model(world, flags.model.model)),
        config_(checkpoint_.config()) {
    if (!checkpoint_.tokenizer_json().empty()) {
      tokenizer_.emplace(checkpoint_.tokenizer_json(), flags.model.model + ": tokenizer.json");
      stream_.emplace(*tokenizer_);
    }
    prompt_ = read_prompt();
    check_prompt(config_, prompt_, flags.count);
  }

  int run() {
    double start = now();
    model::Transformer model(world_, checkpoint_, options_, true, [&](Index layers) {
      progress(fmt::format("loading {} of {} layers", layers, config_.layers));
    });
    timing_.load = now() - start;
    progress("prefill");
    start = now();
    model.prefill(prompt_);
    const Index first = next_token(model);
    timing_.prefill = now() - start;
    progress("");
    model.transition();
    start = now();
    decode(model, first);
    timing_.decode = now() - start;
    if (time_.first) count_cycles();
    report(model);
    return static_cast<int>(ExitCode::good);
  }

private:
  std::vector<Index> read_prompt() const {
    if (!flags_.prompt_ids.empty()) return parse_ids(flags_.prompt_ids);
    if (!tokenizer_)
      throw InputError(
          {.what = flags_.model.model + " has no tokenizer.json", .remedy = "--prompt-ids 1,2,3"});
    std::string text = flags_.prompt;
    if (!flags_.prompt_file.empty()) {
      at_root(world_, [&] { text = io::read_text(flags_.prompt_file); });
      text = world_.broadcast(text, {0});
    }
    return tokenizer_->encode(text);
  }

  void progress(const std::string& line) const { show_progress(world_, flags_.output.quiet, line); }

  // What a run costs follows from shapes alone, so a dry run of the same steps counts it, in one go and
  // without taking the caches from the real one.
  void count_cycles() {
    progress("counting cycles");
    const double start = now();
    model::Transformer dry(world_, config_, timed_options_);
    dry.prefill(prompt_);
    choose(dry);
    dry.transition();
    const auto steps = ids_.size() - (ended_ ? 0 : 1);  // the last was decoded only if an end followed
    for (std::size_t step = 0; step < steps; ++step) {
      dry.decode(prompt_.front());
      choose(dry);
    }
    timing_.device = now() - start;
    progress("");
  }

  // The part of next_token() that is the wafer's.
  void choose(model::Transformer& dry) const {
    if (flags_.sampling.temperature <= 0.0)
      dry.greedy();
    else
      dry.logits();
  }

  Index next_token(model::Transformer& model) const {
    if (flags_.sampling.temperature <= 0.0) return model.greedy();
    const auto logits = model.logits();
    const Index drawn = world_.is_root() ? model::sample(logits, flags_.sampling, ids_.size()) : 0;
    return world_.broadcast(static_cast<std::int64_t>(drawn), {0});
  }

  bool ends(Index id) const {
    return !flags_.ignore_eos &&
           std::find(config_.eos_ids.begin(), config_.eos_ids.end(), id) != config_.eos_ids.end();
  }

  // From the first new token on.
  void decode(model::Transformer& model, Index next) {
    if (stream_)
      for (const Index id : prompt_) add_text(stream_->push(id));
    prompt_bytes_ = text_.size();
    while (!(ended_ = ends(next))) {
      add_text(stream_ ? stream_->push(next) : (ids_.empty() ? "" : ",") + std::to_string(next));
      ids_.push_back(next);
      if (static_cast<Index>(ids_.size()) == flags_.count) break;
      model.decode(next);
      next = next_token(model);
    }
    if (stream_) add_text(stream_->finish());
  }

  void add_text(const std::string& piece) {
    text_ += piece;
    if (world_.is_root() && !flags_.output.json) print(piece);
  }

  void report(model::Transformer& model) {
    const Memory memory{world_.sum(model.weight_bytes()), world_.sum(model.cache().bytes()),
                        world_.sum(peak_memory())};
    Result result;
    time_.add_to(result);
    const auto logits = model.logits();
    result.json.update(to_json(model, memory, hash_bytes(std::as_bytes(std::span(logits)))));
    const std::string ledger = std::exchange(result.text, "\n");
    flags_.output.deliver(world_, [&] { return result; });
    if (!world_.is_root() || flags_.output.quiet) return;
    std::fputs((speed() + placement(model, memory) + ledger).c_str(), stderr);
  }

  io::Json to_json(const model::Transformer& model, const Memory& memory, std::uint64_t hash) const {
    io::Json json = {{"model", flags_.model.model},
                     {"prefill_mesh", to_string(options_.prefill_mesh)},
                     {"decode_mesh", to_string(options_.decode_mesh)},
                     {"ranks", world_.size()},
                     {"prompt_ids", prompt_},
                     {"ids", ids_},
                     {"stopped_by", ended_ ? "eos" : "length"},
                     {"load_seconds", timing_.load},
                     {"prefill_seconds", timing_.prefill},
                     {"decode_seconds", timing_.decode},
                     {"device_seconds", timing_.device},
                     {"kv", flags_.model.kv},
                     {"kv_occupancy", model.cache().occupancy()},
                     {"kv_bytes", memory.cache},
                     {"weight_bytes", memory.weights},
                     {"peak_memory_bytes", memory.peak},
                     {"kernels", kernels::use_library()},
                     {"logits_hash", format_hash(hash)}};
    if (!tokenizer_) return json;
    json["text"] = text_;
    json["generated"] = text_.substr(prompt_bytes_);
    return json;
  }

  std::string speed() const {
    std::string lines =
        fmt::format("\nprompt     {} tokens, {:.1f} tokens/s\ndecode     {} tokens", prompt_.size(),
                    static_cast<double>(prompt_.size()) / timing_.prefill, ids_.size());
    if (ids_.size() > 1) {  // prefill gives the first
      const double decoded = static_cast<double>(ids_.size()) - 1.0;
      lines += fmt::format(", {:.1f} tokens/s, {:.2f} ms/token", decoded / timing_.decode,
                           1e3 * timing_.decode / decoded);
    }
    return lines + (ended_ ? ", then end of sequence\n" : "\n");
  }

  std::string placement(const model::Transformer& model, const Memory& memory) const {
    const mesh::Tiling& tiling = model.decode_fabric().tiling();
    const auto& rows = model.cache().occupancy();
    const auto [least, most] = std::minmax_element(rows.begin(), rows.end());
    std::string lines = fmt::format(
        "mesh       prefill {}, decode {}, {} ranks as {} tiles, {} idle\nload       {:.2f} s\n"
        "weights    {} on all cores, {} a core\nKV cache   {}, {} on all cores, {} to {} tokens a row\n"
        "memory     {} at most, all ranks together\n",
        to_string(options_.prefill_mesh), to_string(options_.decode_mesh), world_.size(),
        to_string(tiling.grid()), tiling.idle_ranks(), timing_.load, format_bytes(memory.weights),
        format_bytes(memory.weights / tiling.mesh().cores()), flags_.model.kv, format_bytes(memory.cache),
        *least, *most, format_bytes(memory.peak));
    if (flags_.show_cache) lines += fmt::format("tokens of each row  {}\n", fmt::join(rows, " "));
    return lines;
  }

  const Communicator& world_;
  const GenerateFlags& flags_;
  model::Options options_;
  model::Options timed_options_;
  ModelTime time_;
  checkpoint::Checkpoint checkpoint_;
  const checkpoint::ModelConfig& config_;
  std::optional<tokenizer::Tokenizer> tokenizer_;
  std::optional<tokenizer::DecodeStream> stream_;
  std::vector<Index> prompt_;
  std::vector<Index> ids_;  // generated
  std::string text_;        // of the prompt, then of what was generated
  std::size_t prompt_bytes_ = 0;
  bool ended_ = false;  // by a token that ends the sequence
  Timing timing_;
};

void add_sampling(CLI::App& command, model::Sampling& sampling) {
  command.add_option("--temperature", sampling.temperature, "0 takes the likeliest token")
      ->check(CLI::Range(0.0, 1e6));
  command.add_option("--top-k", sampling.top_k, "draw from the k likeliest; 0: all")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--top-p", sampling.top_p, "draw from the likeliest that reach this probability")
      ->check(CLI::Range(0.0, 1.0));
  command.add_option("--seed", sampling.seed, "of the draws; equal seeds give equal text on any ranks");
}

}  // namespace

void add_generate(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("generate", "prompt in, text out token by token");
  const auto flags = std::make_shared<GenerateFlags>();
  flags->mesh.add_to(*command);
  flags->model.add_to(*command);
  flags->output.add_to(*command);
  auto* text = command->add_option("-p,--prompt", flags->prompt, "the prompt");
  auto* file = command->add_option("-f,--file", flags->prompt_file, "a file with the prompt");
  auto* ids = command->add_option("--prompt-ids", flags->prompt_ids, "the prompt as token ids, 1,2,3");
  text->excludes(file)->excludes(ids);
  file->excludes(ids);
  command->add_option("-n,--tokens", flags->count, "tokens to generate at most")
      ->check(CLI::Range(Index{1}, Index{1} << 30))
      ->capture_default_str();
  add_sampling(*command, flags->sampling);
  command->add_flag("--ignore-eos", flags->ignore_eos, "go on after an end-of-sequence token");
  command->add_flag("--show-cache", flags->show_cache, "the summary lists the tokens of every mesh row");
  command->footer("Example: mpirun -n 2 wafermesh generate --mesh 8x8 -p \"Call me\" -n 16");
  command->callback([&chosen, flags] {
    chosen = [flags](const Communicator& world) {
      flags->output.check(world);
      return Generation(world, *flags).run();
    };
  });
}

}  // namespace wafer::app
