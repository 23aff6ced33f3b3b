#include "wafermesh/output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

#include <unistd.h>

#include "core/error.hpp"
#include "fabric/agree.hpp"
#include "io/atomic_file.hpp"

namespace wafer::app {

using fabric::Communicator;

void OutputFlags::add_to(CLI::App& command) {
  command.add_flag("--json", json, "print one JSON object");
  command.add_option("--out", out, "a file for the result: .json, .csv or .h5");
  command.add_flag("--quiet", quiet, "no progress and no summary");
}

void OutputFlags::check(const Communicator& world) const {
  if (out.empty()) return;
  at_root(world, [&] { const io::AtomicFile file(out); });  // never committed: leaves nothing behind
}

void OutputFlags::deliver(const Communicator& world, const std::function<Result()>& result) const {
  at_root(world, [&] {
    const Result made = result();
    const std::string line = io::to_text(made.json) + "\n";
    if (!out.empty()) write_file(made, line);
    errno = 0;
    print(json ? line : made.text);
    if (std::ferror(stdout) != 0)
      throw InputError({.what = "cannot write to stdout", .got = errno != 0 ? std::strerror(errno) : ""});
  });
}

void OutputFlags::write_file(const Result& made, const std::string& line) const {
  const auto ends_in = [this](const std::string& ending) {
    return out.size() > ending.size() && out.compare(out.size() - ending.size(), ending.size(), ending) == 0;
  };
  if (ends_in(".h5")) {
    io::Hdf5Writer file(out);
    file.write_text("result", line);
    if (made.datasets) made.datasets(file);
    file.commit();
    return;
  }
  if (ends_in(".csv") && made.csv.empty())
    throw UsageError(
        {.what = "--out", .got = out, .expected = "a .json or .h5 file: this result has no table"});
  io::write_text(out, ends_in(".csv") ? made.csv : line);
}

void at_root(const Communicator& world, const std::function<void()>& stage) {
  fabric::agree(world, [&] {
    std::exception_ptr failure;  // the others wait, so a failure must not keep rank 0 from the barrier
    try {
      if (world.is_root()) stage();
    } catch (...) {
      failure = std::current_exception();
    }
    world.barrier();
    if (failure) std::rethrow_exception(failure);
  });
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void show_progress(const Communicator& world, bool quiet, const std::string& line) {
  if (quiet || !world.is_root() || isatty(STDERR_FILENO) == 0) return;
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
}

}  // namespace wafer::app
