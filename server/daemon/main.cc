// traincoordinator: one per site. Exit codes: 0 stopped by a signal, or init, certify or restore is
// done; 1 failure, 2 usage.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "common/base/supervisor.h"
#include "server/auth/site_keys.h"
#include "server/coordinator/event_log.h"
#include "server/daemon/daemon.h"
#include "server/daemon/options.h"
#include "server/daemon/restore_site.h"

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

// For so long jobs may save when their devices go back; SIGINT ends that. Engines send SIGTERM
// twice.
constexpr int kLoanPatienceSeconds = 40;

// Until no job runs that could still save.
void EndLoan(trainctl::coordinator::Daemon& daemon, const sigset_t& signals) {
  constexpr timespec kPause{.tv_nsec = 200'000'000};
  constexpr int kPausesPerSecond = 5;
  daemon.EndLoan();
  for (int i = 0; i < kLoanPatienceSeconds * kPausesPerSecond && daemon.HasRanksInReach(); ++i) {
    if (sigtimedwait(&signals, nullptr, &kPause) == SIGINT) return;
  }
}

int Fail(const trainctl::base::Error& error) {
  std::cerr << "traincoordinator: " << error.message << std::endl;
  return error.code == trainctl::base::Code::kInvalid ? 2 : 1;
}

trainctl::base::ServiceVariables ReadServiceVariables() {
  const auto value = [](const char* name) -> std::string {
    const char* found = std::getenv(name);
    return found == nullptr ? "" : found;
  };
  return {.notify_socket = value("NOTIFY_SOCKET"),
          .watchdog_usec = value("WATCHDOG_USEC"),
          .watchdog_pid = value("WATCHDOG_PID")};
}

// Of a coordinator that serves. The loop says that it is alive: one that hangs is silent.
void Announce(const trainctl::base::Supervisor& supervisor, trainctl::coordinator::Daemon& daemon) {
  std::string words = "listens on " + daemon.address();
  const std::string& tls = daemon.tls_address();
  if (!tls.empty()) words += tls == daemon.address() ? ", with TLS" : ", with TLS on " + tls;
  supervisor.Ready(words);
  if (supervisor.alive_period())
    daemon.Every(*supervisor.alive_period(), [&supervisor] { supervisor.Alive(); });
}

std::string HostName() {
  char name[256] = "localhost";
  gethostname(name, sizeof name - 1);
  return name;
}

int Init(trainctl::coordinator::InitOptions options) {
  const trainctl::base::SystemClock clock;
  if (options.hosts.empty()) options.hosts.push_back(HostName());
  const auto made = trainctl::auth::InitSite(options.directory, options.hosts, clock);
  if (!made) return Fail(made.error());
  const std::string& keys = options.directory;
  std::cout << "This site's keys are in " << keys << ". Only ca.pem is for others.\n"
            << "Start the coordinator:\n"
            << "  traincoordinator --dir SITE --site-keys " << keys
            << " --listen 0.0.0.0:7443 --dashboard-tls 0.0.0.0:7444\n"
            << "You are its admin with the token in " << keys << "/admin.token:\n"
            << "  trainctl context add admin --address " << options.hosts.front() << ":7443 --ca "
            << keys << "/ca.pem --token-file " << keys << "/admin.token\n"
            << "  trainctl admin token create USER --role user" << std::endl;
  return 0;
}

int Certify(trainctl::coordinator::InitOptions options) {
  const trainctl::base::SystemClock clock;
  if (options.hosts.empty()) options.hosts.push_back(HostName());
  const auto made = trainctl::auth::CertifyCoordinator(options.directory, options.hosts, clock);
  if (!made) return Fail(made.error());
  std::cout << options.directory << "/coordinator.pem is new. Start the coordinator again."
            << std::endl;
  return 0;
}

int Restore(const trainctl::coordinator::RestoreOptions& options) {
  const trainctl::base::SystemClock clock;
  const auto restored = trainctl::coordinator::RestoreSite(options, clock);
  if (!restored) return Fail(restored.error());
  std::cout << options.directory << " has the site of " << options.file << ": " << restored->jobs
            << " jobs, of which " << restored->ended << " had not ended and have been ended.\n"
            << "The next one is j" << restored->gap.last + 1
            << ". What was submitted after the backup was written is not known to this site: ranks "
               "that still\nrun of it are stopped when their workers connect, and what it has "
               "written stays as it is.\nStart the coordinator:\n"
            << "  traincoordinator --dir " << options.directory << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace trainctl;
  int exit_code = 0;
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "init" || verb == "certify") {
    const auto init = coordinator::ParseInitOptions(argc, argv, &exit_code);
    if (!init) return exit_code;
    return verb == "init" ? Init(*init) : Certify(*init);
  }
  if (verb == "restore") {
    const auto restore = coordinator::ParseRestoreOptions(argc, argv, &exit_code);
    return restore ? Restore(*restore) : exit_code;
  }
  const auto options = coordinator::ParseOptions(argc, argv, &exit_code);
  if (!options) return exit_code;
  const sigset_t signals = BlockTermination();
  RaiseDescriptorLimit();
  const base::SystemClock clock;
  coordinator::StderrEventLog log;
  const base::Supervisor supervisor(ReadServiceVariables());
  const auto daemon = coordinator::Daemon::Start(*options, clock, log);
  if (!daemon) return Fail(daemon.error());
  Announce(supervisor, **daemon);
  WaitForEnd(signals);
  supervisor.Stopping("stopping; jobs go on");
  if (options->lent_until) EndLoan(**daemon, signals);
  return 0;
}
