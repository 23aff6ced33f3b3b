// wafermesh: the command line of the emulator. Every way out of the program is in main().
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "core/error.hpp"
#include "kernels/gemm.hpp"
#include "wafermesh/common.hpp"

namespace {

using wafer::ExitCode;

int exit_with(ExitCode code) { return static_cast<int>(code); }

// CLI11 itself would only say that a subcommand is required.
void check_subcommand(CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::string names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == argv[1]) return;
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  throw wafer::UsageError(
      {.what = "unknown subcommand", .got = std::string("\"") + argv[1] + "\"", .expected = names});
}

int run(const wafer::fabric::Communicator& world, int argc, char** argv) {
  CLI::App app("Emulates a wafer-scale mesh of cores with MPI and runs a whole transformer on it.",
               "wafermesh");
  app.set_version_flag("--version", std::string("wafermesh " WAFERMESH_VERSION));
  app.require_subcommand(1);
  app.footer("Example: mpirun -n 2 wafermesh generate --mesh 8x8 -p \"Call me\" -n 16");
  wafer::app::Action chosen;
  wafer::app::add_generate(app, chosen);
  wafer::app::add_verify(app, chosen);
  wafer::app::add_gemm(app, chosen);
  wafer::app::add_gemv(app, chosen);
  wafer::app::add_allreduce(app, chosen);
  wafer::app::add_scale(app, chosen);
  wafer::app::add_bench(app, chosen);
  wafer::app::add_predict(app, chosen);
  wafer::app::add_reproduce(app, chosen);
  wafer::app::add_convert(app, chosen);
  wafer::app::add_inspect(app, chosen);
  check_subcommand(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help and --version
      if (world.is_root()) app.exit(error);
      return exit_with(ExitCode::good);
    }
    const auto named = app.get_subcommands();
    const std::string command = named.empty() ? "" : " " + named.front()->get_name();
    throw wafer::UsageError({.what = error.what(), .remedy = "wafermesh" + command + " --help"});
  }
  wafer::kernels::use_library();
  return chosen(world);
}

// One rank alone may have failed, and the others be waiting for it.
int leave(const wafer::fabric::Communicator& world, ExitCode code) {
  if (world.size() > 1) wafer::fabric::abort(exit_with(code));
  return exit_with(code);
}

}  // namespace

int main(int argc, char** argv) {
  const wafer::fabric::Session mpi(argc, argv);
  const auto world = wafer::fabric::Communicator::world();
  try {
    return run(world, argc, argv);
  } catch (const wafer::UserError& error) {  // thrown by every rank alike
    if (world.is_root()) std::fprintf(stderr, "error: %s\n", error.what());
    return exit_with(error.code());
  } catch (const std::bad_alloc&) {  // outside the stages in which ranks agree
    std::fprintf(stderr, "error: rank %d: out of memory; try more machines or a smaller problem\n",
                 world.rank().value);
    return leave(world, ExitCode::does_not_fit);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: rank %d: %s\n", world.rank().value, error.what());
    return leave(world, ExitCode::internal);
  }
}
