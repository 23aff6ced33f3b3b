#include "core/error.hpp"

#include "support/catch.hpp"

using namespace wafer;

TEST_CASE("a problem is one line of the parts that it has", "[core]") {
  CHECK(to_string({.what = "config.json"}) == "config.json");
  CHECK(to_string({.what = "--mesh", .got = "\"8y8\"", .expected = "HxW", .remedy = "8x8"}) ==
        "--mesh; got \"8y8\"; expected HxW; try 8x8");
  CHECK(to_string({.what = "the prompt is empty", .expected = "at least one token"}) ==
        "the prompt is empty; expected at least one token");
  CHECK(to_string({.what = "two\nlines", .got = "a\r\nb"}) == "two lines; got a  b");
  CHECK(to_string(Problem{}).empty());
}

TEST_CASE("every kind of error carries its exit code and its line", "[core]") {
  const Problem problem = {.what = "it", .got = "that"};
  CHECK(UsageError(problem).code() == ExitCode::usage);
  CHECK(InputError(problem).code() == ExitCode::input);
  CHECK(FitError(problem).code() == ExitCode::does_not_fit);
  CHECK(UserError(ExitCode::slower, "rank 3: it").code() == ExitCode::slower);
  CHECK(InputError(problem).what() == std::string("it; got that"));
  CHECK(UserError(ExitCode::slower, "rank 3: it").what() == std::string("rank 3: it"));
}

TEST_CASE("exit codes are the numbers that scripts rely on", "[core]") {
  CHECK(static_cast<int>(ExitCode::good) == 0);
  CHECK(static_cast<int>(ExitCode::internal) == 1);
  CHECK(static_cast<int>(ExitCode::usage) == 2);
  CHECK(static_cast<int>(ExitCode::input) == 3);
  CHECK(static_cast<int>(ExitCode::does_not_fit) == 4);
  CHECK(static_cast<int>(ExitCode::verification) == 5);
  CHECK(static_cast<int>(ExitCode::slower) == 6);
}

TEST_CASE("a check that fails names its expression, its place and what it means", "[core]") {
  const int cores = 0;
  CHECK_NOTHROW(WAFER_CHECK(cores == 0, "never seen"));
  CHECK_THROWS_AS(WAFER_CHECK(cores > 0, "a mesh has cores"), InternalError);
  CHECK_THROWS_WITH(
      WAFER_CHECK(cores > 0, "a mesh has cores"),
      test::contains("error_test.cpp:") && test::contains("cores > 0 is false: a mesh has cores"));
}
