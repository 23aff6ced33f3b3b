#pragma once

#include <csignal>

#include <sys/resource.h>

namespace wafer::test {

/// While it lives, files of this process grow to `bytes` at most: a full disk, as a writer sees it.
class LimitedFiles {
public:
  explicit LimitedFiles(rlim_t bytes) {
    old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_limit_);
    const rlimit limit = {bytes, old_limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  LimitedFiles(const LimitedFiles&) = delete;
  LimitedFiles& operator=(const LimitedFiles&) = delete;
  ~LimitedFiles() {
    ::setrlimit(RLIMIT_FSIZE, &old_limit_);
    std::signal(SIGXFSZ, old_handler_);
  }

private:
  void (*old_handler_)(int) = nullptr;
  rlimit old_limit_ = {};
};

}  // namespace wafer::test
