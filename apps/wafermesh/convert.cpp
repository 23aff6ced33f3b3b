// wafermesh convert: a Hugging Face directory to one HDF5 file, or a model of any shape with random weights.
#include "checkpoint/convert.hpp"

#include <memory>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "io/file.hpp"
#include "wafermesh/common.hpp"

namespace wafer::app {

using fabric::Communicator;

namespace {

struct ConvertFlags {
  std::string input;
  std::string output;
  std::string random_config;
  std::uint64_t seed = 0;
  bool json = false;
  bool quiet = false;
};

void write_model(const Communicator& world, const ConvertFlags& flags) {
  const auto progress = [&](std::int64_t done, std::int64_t total) {
    show_progress(world, flags.quiet,
                  fmt::format("writing {} of {}", format_bytes(done), format_bytes(total)));
  };
  if (flags.random_config.empty())
    checkpoint::convert_to_hdf5(checkpoint::Checkpoint(flags.input), flags.output, progress);
  else
    checkpoint::make_random_model({io::read_text(flags.random_config), flags.random_config, flags.seed},
                                  flags.output, progress);
  show_progress(world, flags.quiet, "");
}

int convert(const Communicator& world, const ConvertFlags& flags) {
  at_root(world, [&] { write_model(world, flags); });
  OutputFlags output;
  output.json = flags.json;
  output.deliver(world, [&] {
    const std::int64_t bytes = checkpoint::Checkpoint(flags.output).bytes();
    return Result{{{"written", flags.output}, {"weight_bytes", bytes}},
                  flags.quiet ? "" : fmt::format("wrote {}\n", flags.output)};
  });
  return static_cast<int>(ExitCode::good);
}

}  // namespace

void add_convert(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("convert", "a Hugging Face directory to one HDF5 file, or a random model");
  const auto flags = std::make_shared<ConvertFlags>();
  flags->input = default_model();
  auto* input =
      command->add_option("--model", flags->input, "the directory to convert")->capture_default_str();
  command
      ->add_option("--random", flags->random_config, "make a model of this config.json with random weights")
      ->excludes(input);
  command->add_option("--seed", flags->seed, "of the random weights");
  command->add_option("--out", flags->output, "file.h5; with --random a directory, too")->required();
  command->add_flag("--json", flags->json, "print one JSON object");
  command->add_flag("--quiet", flags->quiet, "no progress, and no text on stdout");
  command->footer("Example: wafermesh convert --out folio.h5");
  command->callback(
      [&chosen, flags] { chosen = [flags](const Communicator& world) { return convert(world, *flags); }; });
}

}  // namespace wafer::app
