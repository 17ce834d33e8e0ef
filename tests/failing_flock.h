// flock(2) of this program, which fails on demand, as on a file system without locks. Included by
// one source of a test program: it takes the place of the C library's.
#pragma once

#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace trainctl::tests {

inline std::atomic<int> flock_error = 0;

class FailingFlock {
 public:
  explicit FailingFlock(int error) { flock_error = error; }
  ~FailingFlock() { flock_error = 0; }
  FailingFlock(const FailingFlock&) = delete;
};

}  // namespace trainctl::tests

extern "C" int flock(int descriptor, int operation) noexcept {
  if (const int error = trainctl::tests::flock_error) {
    errno = error;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_flock, descriptor, operation));
}
