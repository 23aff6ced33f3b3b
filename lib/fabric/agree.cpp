#include "fabric/agree.hpp"

#include <new>

#include "core/error.hpp"

namespace wafer::fabric {

namespace {

struct Failure {
  ExitCode code = ExitCode::good;
  std::string line;
};

Failure attempt(const std::function<void()>& stage) {
  try {
    stage();
    return {};
  } catch (const UserError& error) {
    return {error.code(), error.what()};
  } catch (const std::bad_alloc&) {
    return {ExitCode::does_not_fit, "out of memory; try more machines or a smaller model"};
  } catch (const std::exception& error) {
    return {ExitCode::internal, error.what()};
  }
}

}  // namespace

void agree(const Communicator& communicator, const std::function<void()>& stage) {
  const Failure mine = attempt(stage);
  const bool failed = mine.code != ExitCode::good;
  const std::int64_t first = communicator.min(failed ? communicator.rank().value : communicator.size());
  if (first == communicator.size()) return;
  const std::int64_t failures = communicator.sum(failed ? 1 : 0);
  const mesh::Rank from{static_cast<int>(first)};
  const auto code = static_cast<ExitCode>(communicator.broadcast(static_cast<std::int64_t>(mine.code), from));
  std::string line = communicator.broadcast(mine.line, from);
  if (failures < communicator.size()) line = "rank " + std::to_string(first) + ": " + line;
  if (code == ExitCode::internal) throw InternalError(line);
  throw UserError(code, line);
}

}  // namespace wafer::fabric
