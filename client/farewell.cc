#include "client/farewell.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "client/exit_code.h"

namespace trainctl::client {
namespace {

// Written with SIGINT blocked, read by its handler.
char farewell[512];
size_t farewell_size = 0;

void OnInterrupt(int) {
  if (farewell_size > 0) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, farewell, farewell_size);
  }
  _exit(kExitDetached);
}

}  // namespace

void InstallFarewell() {
  struct sigaction action{};
  action.sa_handler = OnInterrupt;
  sigaction(SIGINT, &action, nullptr);
}

void SetFarewell(const std::string& words) {
  const std::string text = words.empty() ? "" : "\n" + words.substr(0, 500) + "\n";
  sigset_t interrupt, before;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_BLOCK, &interrupt, &before);
  std::memcpy(farewell, text.data(), text.size());
  farewell_size = text.size();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace trainctl::client
