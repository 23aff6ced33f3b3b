#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "fabric/communicator.hpp"
#include "io/hdf5.hpp"
#include "io/json.hpp"

namespace wafer::app {

/// What a subcommand found, in every form that it has.
struct Result {
  io::Json json;
  std::string text;
  std::string csv{};                                // empty: it has no table
  std::function<void(io::Hdf5Writer&)> datasets{};  // what an .h5 file holds beside the JSON object
};

/// The flags that say how a result leaves the program: on stdout as text or as JSON, and in a file.
struct OutputFlags {
  bool json = false;
  bool quiet = false;
  std::string out;

  void add_to(CLI::App& command);

  /// Fails before the work rather than after it where --out cannot be written. Collective.
  /// @throws InputError
  void check(const fabric::Communicator& world) const;

  /// Writes what `result` returns, to --out in the form that its name ends in: .csv, .h5, else JSON; it is
  /// called at rank 0. Collective.
  /// @throws InputError if the file or stdout cannot be written.
  void deliver(const fabric::Communicator& world, const std::function<Result()>& result) const;

private:
  void write_file(const Result& made, const std::string& line) const;
};

/// Runs `stage` at rank 0 while the other ranks wait asleep; all fail alike. Collective.
void at_root(const fabric::Communicator& world, const std::function<void()>& stage);

/// Writes to stdout at once. Errors show at the end, in OutputFlags::deliver.
void print(const std::string& text);

/// Overwrites one line on a terminal at rank 0; silent in a pipe, elsewhere, or when `quiet`.
void show_progress(const fabric::Communicator& world, bool quiet, const std::string& line);

}  // namespace wafer::app
