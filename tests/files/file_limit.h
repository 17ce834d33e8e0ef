// A disk that is full, to this process.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace trainctl {

// The process's files may not grow beyond so many bytes while it lives.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    on_limit_ = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, on_limit_);
  }
  FileLimit(const FileLimit&) = delete;

 private:
  rlimit before_{};
  void (*on_limit_)(int) = nullptr;
};

}  // namespace trainctl
