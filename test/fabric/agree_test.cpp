#include "fabric/agree.hpp"

#include <new>

#include "core/error.hpp"
#include "fabric/tilings.hpp"

using namespace wafer;
using fabric::agree;
using test::world;

namespace {

struct Outcome {
  ExitCode code = ExitCode::good;
  std::string line;
};

// What agree() throws on this rank.
Outcome outcome_of(const std::function<void()>& stage) {
  try {
    agree(world(), stage);
    return {};
  } catch (const UserError& error) {
    return {error.code(), error.what()};
  } catch (const InternalError& error) {
    return {ExitCode::internal, error.what()};
  }
}

// The name of a rank before a message, which is left out where all ranks failed.
std::string prefix(int rank, int failures) {
  return failures < world().size() ? "rank " + std::to_string(rank) + ": " : "";
}

}  // namespace

TEST_CASE("where no rank fails, the stage runs once on each and nothing is thrown", "[fabric]") {
  int runs = 0;
  const Outcome outcome = outcome_of([&] { ++runs; });

  CHECK(outcome.code == ExitCode::good);
  CHECK(runs == 1);
}

TEST_CASE("a failure on one rank only is thrown on every rank and names the rank", "[fabric]") {
  for (int failing = 0; failing < world().size(); ++failing) {
    const Outcome outcome = outcome_of([&] {
      if (world().rank().value == failing) throw InputError({.what = "weights.bin", .got = "no such file"});
    });

    CHECK(outcome.code == ExitCode::input);
    CHECK(outcome.line == prefix(failing, 1) + "weights.bin; got no such file");
  }
}

TEST_CASE("where all ranks fail, the message is that of rank 0 and names no rank", "[fabric]") {
  const Outcome outcome =
      outcome_of([] { throw FitError({.what = "no room on " + std::to_string(world().rank().value)}); });

  CHECK(outcome.code == ExitCode::does_not_fit);
  CHECK(outcome.line == "no room on 0");
}

TEST_CASE("of several failures the lowest rank's is thrown, with its exit code", "[fabric]") {
  const int last = world().size() - 1;
  const int lowest = std::max(0, last - 1);
  const Outcome outcome = outcome_of([&] {
    const int rank = world().rank().value;
    if (rank == lowest) throw InputError({.what = "first"});
    if (rank == last) throw FitError({.what = "second"});
  });

  CHECK(outcome.code == ExitCode::input);
  CHECK(outcome.line == prefix(lowest, last == 0 ? 1 : 2) + "first");
}

TEST_CASE("memory that runs out on one rank is an error of fit on all", "[fabric]") {
  const int last = world().size() - 1;
  const Outcome outcome = outcome_of([&] {
    if (world().rank().value == last) throw std::bad_alloc();
  });

  CHECK(outcome.code == ExitCode::does_not_fit);
  CHECK_THAT(outcome.line, Catch::Matchers::StartsWith(prefix(last, 1) + "out of memory"));
}

TEST_CASE("any other exception is an internal error on all ranks", "[fabric]") {
  const int last = world().size() - 1;
  const Outcome outcome = outcome_of([&] {
    if (world().rank().value == last) throw std::runtime_error("broken");
  });

  CHECK(outcome.code == ExitCode::internal);
  CHECK(outcome.line == prefix(last, 1) + "broken");
}
