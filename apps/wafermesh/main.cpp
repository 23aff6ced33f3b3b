// wafermesh: the command line of the emulator. Every way out of the program is in main().
#include <cstdio>
#include <exception>

#include "core/error.hpp"
#include "kernels/gemm.hpp"
#include "wafermesh/common.hpp"

namespace {

using wafer::ExitCode;

int exit_with(ExitCode code) { return static_cast<int>(code); }

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
  wafer::app::add_convert(app, chosen);
  wafer::app::add_inspect(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help and --version
      if (world.is_root()) app.exit(error);
      return exit_with(ExitCode::good);
    }
    throw wafer::UsageError({.what = error.what(), .remedy = "wafermesh --help"});
  }
  wafer::kernels::use_library();
  return chosen(world);
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
  } catch (const std::exception& error) {  // other ranks may be waiting for this one
    std::fprintf(stderr, "error: rank %d: %s\n", world.rank().value, error.what());
    if (world.size() == 1) return exit_with(ExitCode::internal);
    wafer::fabric::abort(exit_with(ExitCode::internal));
  }
}
