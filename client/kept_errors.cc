#include "client/kept_errors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>

namespace trainctl::client {

// A full pipe takes nothing more, and holds up nobody.
KeptErrors::KeptErrors() {
  if (!isatty(STDERR_FILENO) || pipe2(pipe_, O_CLOEXEC | O_NONBLOCK) != 0) return;
  terminal_ = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

KeptErrors::~KeptErrors() {
  Tell();
  std::cerr.clear();  // of what the pipe did not take
  for (const int file : {terminal_, pipe_[0], pipe_[1]}) {
    if (file >= 0) close(file);
  }
}

void KeptErrors::Keep() const {
  if (terminal_ >= 0) dup2(pipe_[1], STDERR_FILENO);
}

void KeptErrors::Tell() const {
  if (terminal_ < 0) return;
  const int error = errno;
  dup2(terminal_, STDERR_FILENO);
  char bytes[1024];
  for (ssize_t count; (count = read(pipe_[0], bytes, sizeof bytes)) > 0;) {
    if (write(terminal_, bytes, static_cast<size_t>(count)) < 0) break;
  }
  errno = error;
}

}  // namespace trainctl::client
