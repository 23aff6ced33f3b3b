#pragma once

#include <stdexcept>
#include <string>

namespace wafer {

/// How the program ends. Documented in README.md; scripts rely on the numbers.
enum class ExitCode : int {
  good = 0,
  internal = 1,      ///< our bug, or an MPI call that failed
  usage = 2,         ///< the command line
  input = 3,         ///< a file: missing, malformed, unsupported, unwritable
  does_not_fit = 4,  ///< shape, grid, memory or context
  verification = 5,  ///< the mesh and the reference differ
  slower = 6,        ///< a measurement is slower than the one it was compared with
};

/// The parts of an error message; empty ones are left out.
struct Problem {
  std::string what{};      ///< the thing that is wrong, by name
  std::string got{};       ///< what was found
  std::string expected{};  ///< what would have been right
  std::string remedy{};    ///< what to try
};

/// "what; got X; expected Y; try Z" on one line: line breaks inside the parts become spaces.
std::string to_string(const Problem& problem);

/// What the user gave is wrong. Printed as one line, without a trace; the program ends with code().
class UserError : public std::runtime_error {
public:
  UserError(ExitCode code, const Problem& problem) : std::runtime_error(to_string(problem)), code_(code) {}
  UserError(ExitCode code, const std::string& line) : std::runtime_error(line), code_(code) {}
  ExitCode code() const { return code_; }

private:
  ExitCode code_;
};

/// A flag or an argument.
struct UsageError : UserError {
  explicit UsageError(const Problem& problem) : UserError(ExitCode::usage, problem) {}
};

/// A file: missing, malformed, unsupported or unwritable.
struct InputError : UserError {
  explicit InputError(const Problem& problem) : UserError(ExitCode::input, problem) {}
};

/// A shape, grid, memory or context that is too small.
struct FitError : UserError {
  explicit FitError(const Problem& problem) : UserError(ExitCode::does_not_fit, problem) {}
};

/// This program is wrong: a broken precondition or invariant.
struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

namespace detail {
[[noreturn]] void fail_check(const char* expr, const char* file, int line, const std::string& message);
}

}  // namespace wafer

/// Precondition at a module's border. Always on; throws InternalError that names the expression and the
/// place.
#define WAFER_CHECK(expr, message) \
  ((expr) ? void(0) : ::wafer::detail::fail_check(#expr, __FILE__, __LINE__, message))
