#include "worker/shim/rank_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "common/base/error_number.h"

namespace trainctl::shim {
namespace {

constexpr int kPipeBytes = 1 << 20;

struct Pipe {
  base::Descriptor read, write;
  bool ok = false;

  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    read = base::Descriptor(ends[0]);
    write = base::Descriptor(ends[1]);
    ok = true;
  }
};

void SetNonBlocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

// The child's ends, all above the numbers that they will get, so that placing one never closes
// another.
struct ChildEnds {
  int null, log, messages, commands, gate, failure;

  void MoveUp() {
    for (int* fd : {&null, &log, &messages, &commands, &gate, &failure})
      *fd = ::fcntl(*fd, F_DUPFD_CLOEXEC, 10);
  }
};

void ResetSignals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Why the program does not run. A pipe takes it whole.
struct Failure {
  int error = 0;
  int path = -1;           // of the named ones; -1: the program itself
  char denied[2000] = "";  // the path's fault in words
};

[[noreturn]] void Fail(const ChildEnds& ends, const Failure& failure) {
  [[maybe_unused]] const ssize_t said = ::write(ends.failure, &failure, sizeof failure);
  ::_exit(127);
}

// Ends this process at the first path that is missing, or lies outside of the roots.
void CheckPaths(const ChildEnds& ends, const LaunchPaths& paths) {
  for (size_t i = 0; i < paths.named.size(); ++i) {
    const LaunchPaths::Named& named = paths.named[i];
    Failure failure{.error = 0, .path = static_cast<int>(i)};
    if (const base::Status within = CheckWithin(named.path, named.use, paths.roots); !within) {
      std::snprintf(failure.denied, sizeof failure.denied, "%s", within.error().message.c_str());
      Fail(ends, failure);
    }
    if (!named.needed || ::access(named.path.c_str(), F_OK) == 0) continue;
    failure.error = errno;
    Fail(ends, failure);
  }
}

[[noreturn]] void RunChild(ChildEnds ends, pid_t shim, const std::vector<char*>& arguments,
                           const LaunchPaths& paths) {
  ends.MoveUp();
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  char go = 0;
  if (::getppid() != shim || ::read(ends.gate, &go, 1) != 1)
    ::_exit(127);  // the shim died or gave up meanwhile
  ResetSignals();
  CheckPaths(ends, paths);
  ::dup2(ends.null, STDIN_FILENO);
  ::dup2(ends.log, STDOUT_FILENO);
  ::dup2(ends.log, STDERR_FILENO);
  ::dup2(ends.messages, kMessagesFd);
  ::dup2(ends.commands, kCommandsFd);
  ::execvp(arguments[0], arguments.data());
  Fail(ends, {.error = errno});
}

}  // namespace

base::Result<RankProcess> RankProcess::Fork(const std::vector<std::string>& command,
                                            const LaunchPaths& paths) {
  Pipe log, messages, commands, gate, failure;
  const base::Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!log.ok || !messages.ok || !commands.ok || !gate.ok || !failure.ok || !null.open()) {
    return base::OsError("cannot make the rank's pipes", errno);
  }
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);

  const pid_t shim = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return base::OsError("cannot fork", errno);
  if (pid == 0) {
    gate.write.Close();
    failure.read.Close();
    const ChildEnds ends = {null.get(),          log.write.get(), messages.write.get(),
                            commands.read.get(), gate.read.get(), failure.write.get()};
    RunChild(ends, shim, arguments, paths);
  }
  ::setpgid(pid, pid);  // also here, so that it holds whoever comes first
  RankProcess rank;
  rank.pid_ = pid;
  rank.program_ = command[0];
  rank.paths_ = paths;
  rank.log_ = std::move(log.read);
  rank.messages_ = std::move(messages.read);
  rank.commands_ = std::move(commands.write);
  rank.gate_ = std::move(gate.write);
  rank.failure_ = std::move(failure.read);
  for (const int fd : {rank.log_.get(), rank.messages_.get(), rank.commands_.get()}) {
    SetNonBlocking(fd);
    ::fcntl(fd, F_SETPIPE_SZ, kPipeBytes);
  }
  SetNonBlocking(rank.failure_.get());
  return rank;
}

base::Status RankProcess::Release() {
  const ssize_t told = ::write(gate_.get(), "g", 1);
  gate_.Close();
  if (told != 1)
    return base::Error{base::Code::kIo, "the rank's process ended before its program was started"};
  return base::Ok{};
}

std::optional<base::Status> RankProcess::Started() {
  Failure failure;
  const ssize_t got = ::read(failure_.get(), &failure, sizeof failure);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  failure_.Close();
  if (got != sizeof failure) return base::Ok{};
  const std::string why = std::strerror(failure.error);
  if (failure.path < 0) return base::Error{base::Code::kIo, "cannot run " + program_ + ": " + why};
  const LaunchPaths::Named& need = paths_.named[static_cast<size_t>(failure.path)];
  if (failure.denied[0] != '\0')
    return base::Error{base::Code::kDenied, need.key + ": " + failure.denied};
  return base::Error{base::Code::kNotFound,
                     "no " + need.path + " (" + need.key + "): " + why +
                         "; put it there, or name a path that every host can read"};
}

}  // namespace trainctl::shim
