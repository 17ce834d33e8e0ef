// traincoordinator: one per site. Exit codes: 0 stopped by a signal, 1 failure, 2 usage.
#include <sys/resource.h>

#include <csignal>
#include <iostream>

#include "common/base/clock.h"
#include "server/coordinator/event_log.h"
#include "server/daemon/daemon.h"
#include "server/daemon/options.h"

namespace {

// Blocked before any thread starts, so that only WaitForEnd takes them.
sigset_t BlockTermination() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signals;
}

// Each connection and each stream's log takes one; the usual soft limit is 1,024.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void WaitForEnd(const sigset_t& signals) {
  int signal = 0;
  sigwait(&signals, &signal);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace trainctl;
  int exit_code = 0;
  const auto options = coordinator::ParseOptions(argc, argv, &exit_code);
  if (!options) return exit_code;
  const sigset_t signals = BlockTermination();
  RaiseDescriptorLimit();
  const base::SystemClock clock;
  coordinator::StderrEventLog log;
  const auto daemon = coordinator::Daemon::Start(*options, clock, log);
  if (!daemon) {
    std::cerr << "traincoordinator: " << daemon.error().message << std::endl;
    return daemon.error().code == base::Code::kInvalid ? 2 : 1;
  }
  WaitForEnd(signals);
  return 0;
}
