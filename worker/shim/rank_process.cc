#include "worker/shim/rank_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "common/base/error_number.h"
#include "common/base/unix_account.h"

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

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

void ResetSignals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Why the program does not run. A pipe takes it whole.
struct Failure {
  int error = 0;
  int path = -1;  // of the named ones; -1: the program itself, or the user
  base::Code code = base::Code::kDenied;
  char words[2000] = "";  // the path's or user's fault; empty: the error says it
};

[[noreturn]] void Fail(const ChildEnds& ends, const Failure& failure) {
  [[maybe_unused]] const ssize_t said = ::write(ends.failure, &failure, sizeof failure);
  ::_exit(127);
}

[[noreturn]] void FailWith(const ChildEnds& ends, const base::Error& error, int path = -1) {
  Failure failure{.error = 0, .path = path, .code = error.code};
  std::snprintf(failure.words, sizeof failure.words, "%s", error.message.c_str());
  Fail(ends, failure);
}

// What a rank needs of its folder; the rest stays the shim's, and is closed to others.
base::Status HandOver(const std::string& folder, const base::UnixAccount& account) {
  bool given = ::chmod(folder.c_str(), 0711) == 0;
  for (const char* name : {"/plan.json", "/scratch"}) {
    const std::string path = folder + name;
    given = given && (::lchown(path.c_str(), account.user, account.group) == 0 || errno == ENOENT);
  }
  if (given) return base::Ok{};
  return base::OsError("cannot give " + folder + " to user " + account.name, errno);
}

// The parent's death must end the rank, which the kernel forgets with the change of users.
base::Result<base::UnixAccount> BecomeUser(const RankUser& user, pid_t shim) {
  auto account = base::FindAccount(user.name);
  if (!account) return account.error();
  if (const base::Status given = HandOver(user.folder, *account); !given) return given.error();
  if (const base::Status become = base::Become(*account); !become)
    return base::Error{base::Code::kIo, become.error().message};
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != shim) ::_exit(127);
  if (::access(user.folder.c_str(), X_OK) == 0) return account;
  return base::OsError("user " + account->name + " can't reach the rank's folder " + user.folder,
                       errno);
}

// Ends this process at the first path that is missing or lies outside of the roots. So does one
// that would be written among the site's own files.
void CheckPaths(const ChildEnds& ends, const LaunchPaths& paths) {
  for (size_t i = 0; i < paths.named.size(); ++i) {
    const LaunchPaths::Named& named = paths.named[i];
    const int path = static_cast<int>(i);
    const base::Status within = CheckPathOfJob(named.path, named.use, paths.roots);
    if (!within) FailWith(ends, within.error(), path);
    if (named.needed && ::access(named.path.c_str(), F_OK) != 0)
      Fail(ends, {.error = errno, .path = path});
  }
}

[[noreturn]] void RunChild(ChildEnds ends, pid_t shim, const std::vector<char*>& arguments,
                           const LaunchPaths& paths, const RankUser& user) {
  ends.MoveUp();
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  char go = 0;
  if (::getppid() != shim || ::read(ends.gate, &go, 1) != 1)
    ::_exit(127);  // the shim died or gave up meanwhile
  ResetSignals();
  std::vector<std::string> environment;
  if (!user.name.empty()) {
    const base::Result<base::UnixAccount> account = BecomeUser(user, shim);
    if (!account) FailWith(ends, account.error());
    environment = base::EnvironmentOf(*account, user.environment);
  }
  CheckPaths(ends, paths);
  ::dup2(ends.null, STDIN_FILENO);
  ::dup2(ends.log, STDOUT_FILENO);
  ::dup2(ends.log, STDERR_FILENO);
  ::dup2(ends.messages, kMessagesFd);
  ::dup2(ends.commands, kCommandsFd);
  if (user.name.empty()) ::execvp(arguments[0], arguments.data());
  if (!user.name.empty()) ::execvpe(arguments[0], arguments.data(), Pointers(environment).data());
  Fail(ends, {.error = errno});
}

}  // namespace

base::Result<RankProcess> RankProcess::Fork(const std::vector<std::string>& command,
                                            const LaunchPaths& paths, const RankUser& user) {
  Pipe log, messages, commands, gate, failure;
  const base::Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!log.ok || !messages.ok || !commands.ok || !gate.ok || !failure.ok || !null.open()) {
    return base::OsError("cannot make the rank's pipes", errno);
  }
  const std::vector<char*> arguments = Pointers(command);
  const pid_t shim = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return base::OsError("cannot fork", errno);
  if (pid == 0) {
    gate.write.Close();
    failure.read.Close();
    const ChildEnds ends = {null.get(),          log.write.get(), messages.write.get(),
                            commands.read.get(), gate.read.get(), failure.write.get()};
    RunChild(ends, shim, arguments, paths, user);
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
  const std::string why = std::strerror(failure.error), words = failure.words;
  if (failure.path < 0 && !words.empty()) return base::Error{failure.code, words};
  if (failure.path < 0) return base::Error{base::Code::kIo, "cannot run " + program_ + ": " + why};
  const LaunchPaths::Named& need = paths_.named[static_cast<size_t>(failure.path)];
  if (!words.empty()) return base::Error{failure.code, need.key + ": " + words};
  return base::Error{base::Code::kNotFound,
                     "no " + need.path + " (" + need.key + "): " + why +
                         "; put it there, or name a path that every host can read"};
}

}  // namespace trainctl::shim
