#include "worker/shim/shim.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <utility>

#include "common/base/boot_id.h"
#include "worker/shim/line_fields.h"
#include "worker/shim/process_table.h"

namespace trainctl::shim {
namespace {

constexpr size_t kReadBytes = 64 << 10;
constexpr size_t kMaxCommandBytes =
    1 << 20;  // waiting for the rank to read them; beyond it commands are dropped
constexpr double kMaxGraceSeconds = 3600;
constexpr int kKillIntervalMs = 20;
constexpr int kRetryIntervalMs = 250;                 // of files while the disk is full
constexpr base::SteadyMicros kDrainMicros = 500'000;  // that what the rank left behind may write on
constexpr int kMaxLastReads = 64;                     // of a pipe, once nobody should write to it

base::SteadyMicros Micros(double seconds) { return static_cast<base::SteadyMicros>(seconds * 1e6); }

// What a pipe holds now, up to kReadBytes. False: nothing now, or its end (then it is closed).
template <class Take>
bool ReadPipe(base::Descriptor& pipe, Take&& take) {
  char bytes[kReadBytes];
  const ssize_t got = pipe.open() ? ::read(pipe.get(), bytes, sizeof bytes) : -1;
  if (got == 0) pipe.Close();
  if (got <= 0) return false;
  take(std::string_view(bytes, static_cast<size_t>(got)));
  return true;
}

std::string NameOf(const std::string& folder) {
  const size_t end = folder.find_last_not_of('/');
  const size_t slash = folder.rfind('/', end);
  return folder.substr(slash + 1, end - slash);
}

}  // namespace

Shim::Shim(ShimOptions options, const base::Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      rank_deadline_(options_.folder, clock),
      log_(options_.folder, options_.log),
      spool_(options_.folder, options_.spool) {}

base::Status Shim::Run() {
  if (const base::Status prepared = Prepare(); !prepared) return prepared;
  if (const base::Status launched = Launch(); !launched) {
    FailLaunch(launched.error());
    if (rank_) rank_->Abandon();
  }
  while (stage_ != Stage::kGone) {
    WaitForEvents();
    Advance();
    Tell();
  }
  return Finish();
}

// Makes this process what a rank's parent must be, and the folder its own.
base::Status Shim::Prepare() {
  base::Result<base::Descriptor> lock = LockFolder(options_.folder);
  if (!lock) return lock.error();
  lock_ = std::move(*lock);
  if (HasRun(options_.folder))
    return base::Error{base::Code::kConflict,
                       options_.folder + " has run a rank before: it runs only once"};

  ::setsid();  // fails where the caller made us a leader already
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (const int signal : {SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU})
    ::signal(signal, SIG_IGN);
  sigset_t handled;
  ::sigemptyset(&handled);
  ::sigaddset(&handled, SIGCHLD);
  ::sigaddset(&handled, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &handled, nullptr);
  signals_ = base::Descriptor(::signalfd(-1, &handled, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!signals_.open()) return base::Error{base::Code::kIo, "cannot make a signalfd"};

  if (const base::Status reserved = ReserveEnd(options_.folder); !reserved) return reserved;
  base::Result<ControlSocket> control = ControlSocket::Listen(options_.folder);
  if (!control) return control.error();
  control_ = std::move(*control);
  exit_.boot_id = base::BootId();
  oom_kills_before_ = OomKills();
  return base::Ok{};
}

base::Status Shim::Launch() {
  base::Result<RankProcess> rank = RankProcess::Fork(
      options_.command, options_.paths, {options_.user, options_.folder, options_.environment});
  if (!rank) return rank.error();
  rank_ = std::move(*rank);
  leaf_ = CgroupLeaf::Create(options_.cgroup_parent, "trainctl-" + NameOf(options_.folder) + "-" +
                                                         std::to_string(::getpid()));
  if (leaf_ && !leaf_->Add(rank_->pid())) {
    leaf_->Remove();
    leaf_.reset();
  }
  const std::optional<ProcessStat> stat = ReadStat(rank_->pid());
  const PidRecord record{.pid = rank_->pid(),
                         .start_time = stat ? stat->start_time : 0,
                         .session = ::getsid(0) == ::getpid() ? ::getpid() : 0,
                         .boot_id = exit_.boot_id,
                         .cgroup = leaf_ ? leaf_->path() : std::string()};
  if (const base::Status written = Write(options_.folder, record); !written) return written;
  launch_deadline_ = clock_.Steady() + Micros(options_.launch_seconds);
  return rank_->Release();
}

// Learns whether the program has started.
void Shim::CheckLaunch() {
  if (launch_deadline_ == 0) return;
  if (const std::optional<base::Status> started = rank_->Started()) {
    launch_deadline_ = 0;
    if (!*started) FailLaunch(started->error());
  } else if (clock_.Steady() >= launch_deadline_) {
    launch_deadline_ = 0;
    std::string paths = options_.command[0];
    for (const LaunchPaths::Named& named : options_.paths.named)
      paths += ", " + named.path + " (" + named.key + ")";
    FailLaunch(
        {base::Code::kNotFound, "one of " + paths + " does not answer: does its mount hang?"});
  }
}

// Only what the job names can be missing, or be none of its owner's, by its own fault.
void Shim::FailLaunch(const base::Error& error) {
  exit_.launch_error =
      (options_.host.empty() ? "" : "host " + options_.host + ": ") + error.message;
  exit_.worker_fault = error.code != base::Code::kNotFound && error.code != base::Code::kDenied;
  killed_ = true;
}

void Shim::WaitForEvents() {
  pollfd fds[] = {
      {signals_.get(), POLLIN, 0},
      {control_->listener(), POLLIN, 0},
      {control_->connection(), static_cast<short>(POLLIN | (control_->sending() ? POLLOUT : 0)), 0},
      {rank_ ? rank_->log().get() : -1, POLLIN, 0},
      {rank_ ? rank_->messages().get() : -1, POLLIN, 0},
      {rank_ && !commands_.empty() ? rank_->commands().get() : -1, POLLOUT, 0},
      {launch_deadline_ != 0 ? rank_->start().get() : -1, POLLIN, 0}};
  if (::poll(fds, std::size(fds), PollTimeoutMs()) <= 0) return;
  if (fds[0].revents) ReadSignals();
  if (fds[3].revents) ReadLog();
  if (fds[4].revents) ReadMessages();
  if (fds[5].revents) SendCommands();
  if (fds[2].revents) {
    control_->Read([this](std::string_view line) { Take(line); });
    control_->Flush();
  }
  if (fds[1].revents && control_->Accept()) {  // the new worker knows nothing yet
    told_lines_ = -1;
    told_error_ = 0;
  }
}

// Until the next thing to do by itself; -1: there is none.
int Shim::PollTimeoutMs() const {
  if (!rank_) return 0;
  int64_t timeout_ms = -1;
  const auto wake_in = [&](int64_t ms) {
    ms = std::clamp<int64_t>(ms, 0, 60'000);
    timeout_ms = timeout_ms < 0 ? ms : std::min(timeout_ms, ms);
  };
  const base::SteadyMicros now = clock_.Steady();
  if (stage_ == Stage::kKilling || drain_deadline_ != 0) wake_in(kKillIntervalMs);
  if (stage_ == Stage::kTerminating) wake_in((deadline_ - now) / 1000 + 1);
  if (launch_deadline_ != 0) wake_in((launch_deadline_ - now) / 1000 + 1);
  if (log_.stalled() || spool_.stalled()) wake_in(kRetryIntervalMs);
  if (MayRunOn()) wake_in(rank_deadline_.WaitMs(control_->connection() >= 0));
  return static_cast<int>(timeout_ms);
}

// The disk was full: what is held in memory goes to the files as soon as there is room.
void Shim::RetryFiles() {
  if (log_.stalled()) log_.Flush();
  if (spool_.stalled()) spool_.Flush();
}

void Shim::ReadSignals() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGTERM) Terminate(options_.grace_seconds);
  }
}

bool Shim::ReadLog() {
  return ReadPipe(rank_->log(), [this](std::string_view bytes) { log_.Append(bytes); });
}

bool Shim::ReadMessages() {
  const bool more = ReadPipe(rank_->messages(), [this](std::string_view bytes) {
    messages_.Append(bytes, [this](std::string_view line) {
      outcome_said_ = outcome_said_ || HasType(line, "outcome");
      spool_.Append(line, clock_.Wall());
    });
  });
  spool_.CountDropped(messages_.skipped() - std::exchange(overlong_messages_, messages_.skipped()));
  return more;
}

void Shim::SendCommands() {
  const ssize_t sent = ::write(rank_->commands().get(), commands_.data(), commands_.size());
  if (sent > 0) commands_.erase(0, static_cast<size_t>(sent));
  if (sent < 0 && errno != EAGAIN && errno != EINTR)
    commands_.clear();  // the rank reads no commands any more
}

// A line of the worker (control_socket.h).
void Shim::Take(std::string_view line) {
  if (HasType(line, "terminate")) {
    terminate_answer_due_ = true;
    return Terminate(NumberField(line, "grace_seconds").value_or(options_.grace_seconds));
  }
  if (HasType(line, "stored"))
    return spool_.Acknowledge(static_cast<int64_t>(NumberField(line, "sequence").value_or(0)));
  if (HasType(line, "metrics")) return spool_.Append(line, clock_.Wall());
  if (commands_.size() + line.size() < kMaxCommandBytes) commands_.append(line).push_back('\n');
}

// Wakes the worker up where there is more than it knows of.
void Shim::Tell() {
  if (terminate_answer_due_ && control_->Send("{\"type\":\"terminating\"}"))
    terminate_answer_due_ = false;
  TellOfFiles();
  if (told_lines_ == spool_.lines() && told_log_bytes_ == log_.end()) return;
  const std::string counts = "\"messages\":" + std::to_string(spool_.lines()) +
                             ",\"log_bytes\":" + std::to_string(log_.end());
  if (!control_->Send("{\"type\":\"data\"," + counts + "}")) return;
  told_lines_ = spool_.lines();
  told_log_bytes_ = log_.end();
}

void Shim::TellOfFiles() {
  const int error = log_.stalled() ? log_.error() : spool_.error();
  if (told_error_ == error) return;
  if (control_->Send("{\"type\":\"files\",\"error\":" + std::to_string(error) + "}"))
    told_error_ = error;
}

// The rank has not ended, and nobody has asked it to.
bool Shim::MayRunOn() const {
  return stage_ == Stage::kRunning && rank_ && exit_.ended_at == 0 && exit_.launch_error.empty();
}

void Shim::KeepDeadline() {
  if (!MayRunOn()) return;
  const std::optional<double> grace_seconds = rank_deadline_.Come(control_->connection() >= 0);
  if (!grace_seconds) return;
  exit_.deadline_came = true;
  Terminate(*grace_seconds);
}

// A second call may shorten the grace, never lengthen it.
void Shim::Terminate(double grace_seconds) {
  if (stage_ == Stage::kKilling || stage_ == Stage::kGone || !rank_) return;
  const double grace = std::isfinite(grace_seconds)
                           ? std::clamp(grace_seconds, 0.0, kMaxGraceSeconds)
                           : options_.grace_seconds;
  const base::SteadyMicros deadline = clock_.Steady() + Micros(grace);
  deadline_ = stage_ == Stage::kTerminating ? std::min(deadline_, deadline) : deadline;
  if (stage_ == Stage::kRunning && !outcome_said_) ::kill(-rank_->pid(), SIGTERM);
  stage_ = Stage::kTerminating;
}

void Shim::Reap() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
    if (!rank_ || pid != rank_->pid()) continue;
    CheckLaunch();  // what it said before it ended
    launch_deadline_ = 0;
    exit_.ended_at = clock_.Wall();
    if (!exit_.launch_error.empty()) continue;
    if (WIFEXITED(status)) exit_.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) exit_.signal = WTERMSIG(status);
    exit_.oom_killed = exit_.signal == SIGKILL && !killed_ && OomKills() > oom_kills_before_;
  }
  tree_gone_ = pid < 0 && errno == ECHILD && !(leaf_ && leaf_->Populated());
}

// Whether what the rank left behind may still write to its pipes.
bool Shim::Drains() {
  return stage_ == Stage::kRunning && exit_.launch_error.empty() && !tree_gone_ &&
         clock_.Steady() < drain_deadline_ && (rank_->log().open() || rank_->messages().open());
}

void Shim::Advance() {
  Reap();
  CheckLaunch();
  RetryFiles();
  KeepDeadline();
  const bool rank_ended = !rank_ || exit_.ended_at != 0 || !exit_.launch_error.empty();
  const bool grace_over = stage_ == Stage::kTerminating && clock_.Steady() >= deadline_;
  if (exit_.ended_at != 0 && drain_deadline_ == 0) drain_deadline_ = clock_.Steady() + kDrainMicros;
  if (rank_ended && Drains()) return;
  if (stage_ != Stage::kKilling && (rank_ended || grace_over)) {
    stage_ = Stage::kKilling;
    deadline_ = clock_.Steady() + Micros(options_.unkillable_seconds);
  }
  if (stage_ != Stage::kKilling) return;
  if (tree_gone_) {
    stage_ = Stage::kGone;
  } else if (clock_.Steady() < deadline_) {
    KillTree();
  } else {
    for (const ProcessStat& process : Descendants(::getpid()))
      exit_.leftover_pids.push_back(process.pid);
    stage_ = Stage::kGone;
  }
}

void Shim::KillTree() {
  killed_ = true;
  if (leaf_) leaf_->Kill();
  for (const ProcessStat& process : Descendants(::getpid())) Signal(process, SIGKILL);
}

// The tree is gone: takes what its pipes still hold, ends the files and says so.
base::Status Shim::Finish() {
  for (int reads = 0; rank_ && reads < kMaxLastReads && ReadLog(); ++reads) {
  }
  for (int reads = 0; rank_ && reads < kMaxLastReads && ReadMessages(); ++reads) {
  }
  spool_.Flush();  // there may be room again
  if (spool_.stalled() || log_.stalled()) DropBallast(options_.folder);
  spool_.Finish(clock_.Wall());
  exit_.lost_log_bytes = log_.Finish();
  if (exit_.ended_at == 0) exit_.ended_at = clock_.Wall();
  if (leaf_) leaf_->Remove();
  const base::Status written = Write(options_.folder, exit_);
  DropReserve(options_.folder);
  control_->Flush();
  control_->Send("{\"type\":\"exit\"," + ToJson(exit_).substr(1));
  return written;
}

}  // namespace trainctl::shim
