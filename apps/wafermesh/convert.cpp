// wafermesh convert: a Hugging Face directory to one HDF5 file, or a model of any shape with random weights.
#include "checkpoint/convert.hpp"

#include <cstdio>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "core/units.hpp"
#include "fabric/agree.hpp"
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
  bool quiet = false;
};

int convert(const Communicator& world, const ConvertFlags& flags) {
  fabric::agree(world, [&] {
    if (!world.is_root()) return;
    const auto progress = [&](std::int64_t done, std::int64_t total) {
      show_progress(world, flags.quiet,
                    fmt::format("writing {} of {}", format_bytes(done), format_bytes(total)));
    };
    if (!flags.random_config.empty()) {
      checkpoint::make_random_model({io::read_text(flags.random_config), flags.random_config, flags.seed},
                                    flags.output, progress);
    } else {
      checkpoint::convert_to_hdf5(checkpoint::Checkpoint(flags.input), flags.output, progress);
    }
    show_progress(world, flags.quiet, "");
    if (!flags.quiet) std::printf("wrote %s\n", flags.output.c_str());
  });
  return 0;
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
  command->add_flag("--quiet", flags->quiet, "print nothing");
  command->footer("Example: wafermesh convert --out folio.h5");
  command->callback(
      [&chosen, flags] { chosen = [flags](const Communicator& world) { return convert(world, *flags); }; });
}

}  // namespace wafer::app
