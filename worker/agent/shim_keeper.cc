#include "worker/agent/shim_keeper.h"

#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/base/boot_id.h"
#include "common/base/file.h"
#include "worker/agent/rank_records.h"
#include "worker/agent/remains.h"
#include "worker/agent/spawn.h"
#include "worker/shim/control_socket.h"
#include "worker/shim/line_fields.h"
#include "worker/shim/process_table.h"

namespace trainctl::agent {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr auto kFirstLookInterval = std::chrono::milliseconds(20);
constexpr auto kLastLookInterval = std::chrono::milliseconds(500);
constexpr double kMaxGraceSeconds = 3600;
constexpr auto kReapInterval = std::chrono::milliseconds(100);
constexpr base::SteadyMicros kProveMicros =
    30'000'000;  // then what is left is in uninterruptible sleep, and said to be

// Until the child is reaped, whoever started it may be gone by then.
void ReapLater(asio::io_context& io, pid_t pid) {
  const auto timer = std::make_shared<asio::steady_timer>(io, kReapInterval);
  timer->async_wait([&io, pid, timer](error_code error) {
    if (!error && ::waitpid(pid, nullptr, WNOHANG) == 0) ReapLater(io, pid);
  });
}

}  // namespace

ShimKeeper::ShimKeeper(asio::io_context& io, const base::Clock& clock, std::string folder,
                       Callbacks callbacks, ShimPatience patience)
    : io_(io),
      clock_(clock),
      folder_(std::move(folder)),
      callbacks_(std::move(callbacks)),
      patience_(patience),
      socket_(io),
      timer_(io),
      kill_timer_(io),
      look_interval_(kFirstLookInterval) {}

ShimKeeper::~ShimKeeper() {
  *alive_ = false;
  ReapShim();
}

void ShimKeeper::Launch(const ShimCommand& command) {
  std::vector<std::string> arguments = {command.program, "--dir", folder_};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  base::Result<pid_t> pid = Spawn({.arguments = arguments,
                                   .environment = command.environment,
                                   .output_path = folder_ + "/shim.err"});
  if (!pid) return Fail(pid.error());
  own_shim_ = *pid;
  Look();
}

void ShimKeeper::Fail(const base::Error& error) {
  End({.launch_error = error.message,
       .worker_fault = error.code != base::Code::kInvalid,
       .boot_id = base::BootId(),
       .ended_at = clock_.Wall()});
}

void ShimKeeper::Adopt() { Look(); }

// Connects to a shim that listens; else finds out whether one is still to come, or has ended, or
// was killed.
void ShimKeeper::Look() {
  if (ended_ || socket_.is_open()) return;
  if (prove_until_ != 0) return ProveEnd();
  if (const std::optional<shim::ExitRecord> record = ReadExitRecord(folder_)) return End(*record);
  if (said_exit_) return End(*said_exit_);
  if (Connect()) return Read();
  if (OwnShimRuns()) return LookLater();
  base::Result<base::Descriptor> lock = shim::LockFolder(folder_);
  const bool unknown = !lock && (lock.error().code == base::Code::kConflict ||
                                 lock.error().code == base::Code::kUnavailable);
  if (unknown) return LookLater();
  if (const std::optional<shim::ExitRecord> record = ReadExitRecord(folder_))
    return End(*record);  // written just before the lock was free
  if (lock)
    lock_ = std::move(*lock);  // no shim lives here, and none can start any more
  else
    why_no_lock_ = lock.error().message;
  prove_until_ = clock_.Steady() + kProveMicros;
  look_interval_ = kFirstLookInterval;
  ProveEnd();
}

void ShimKeeper::LookLater() {
  timer_.expires_after(look_interval_);
  if (prove_until_ == 0) look_interval_ = std::min(2 * look_interval_, kLastLookInterval);
  timer_.async_wait([this, alive = alive_](error_code error) {
    if (*alive && !error) Look();
  });
}

// Without waiting: a shim that is stopped may have a full queue of callers.
bool ShimKeeper::Connect() {
  const base::Result<shim::SocketName> name = shim::NameSocket(folder_);
  if (!name) return false;
  base::Descriptor caller(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name->path.c_str(), name->path.size() + 1);
  if (!caller.open() ||
      ::connect(caller.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return false;
  socket_.assign(asio::local::stream_protocol(), caller.Release());
  look_interval_ = kFirstLookInterval;
  ++connections_;
  lines_.Clear();
  files_error_ = 0;
  writing_line_.clear();
  Write();
  return true;
}

// What the shim says is a wake-up: what there is, the files tell.
void ShimKeeper::Read() {
  socket_.async_read_some(
      asio::buffer(bytes_), [this, alive = alive_](error_code error, size_t size) {
        if (!*alive) return;
        if (error) return Disconnected();
        lines_.Append(std::string_view(bytes_.data(), size),
                      [this](std::string_view line) { Take(std::string(line)); });
        callbacks_.on_data();
        if (*alive) Read();
      });
}

void ShimKeeper::Take(const std::string& line) {
  if (!rank_) rank_ = ReadPidRecord(folder_);
  if (shim::HasType(line, "exit")) said_exit_ = ParseExitRecord(line);
  if (shim::HasType(line, "files"))
    files_error_ = static_cast<int>(shim::NumberField(line, "error").value_or(0));
  if (shim::HasType(line, "terminating")) KillShimLater(grace_seconds_, patience_.ending);
}

void ShimKeeper::Disconnected() {
  error_code ignored;
  socket_.close(ignored);
  Look();
}

void ShimKeeper::Send(const std::string& line) {
  if (ended_) return;
  outgoing_.push_back(line + "\n");
  Write();
}

void ShimKeeper::Offer(const std::string& line) {
  if (socket_.is_open() && outgoing_.size() < kMaxWaiting) Send(line);
}

void ShimKeeper::Terminate(double grace_seconds) {
  if (ended_) return;
  grace_seconds_ = std::clamp(grace_seconds, 0.0, kMaxGraceSeconds);
  terminate_ =
      nlohmann::json{{"type", "terminate"}, {"grace_seconds", grace_seconds_}}.dump() + "\n";
  KillShimLater(grace_seconds_, patience_.answer);
  Write();
}

void ShimKeeper::KillShimLater(double grace_seconds, std::chrono::milliseconds patience) {
  kill_timer_.expires_after(std::chrono::milliseconds(static_cast<int64_t>(grace_seconds * 1e3)) +
                            patience);
  kill_timer_.async_wait([this, alive = alive_](error_code error) {
    if (!*alive || error || ended_) return;
    if (KillShim()) note_ = "trainshim did not answer, and was killed with its rank";
  });
}

// Kills every shim that lives in this folder; returns whether there was one.
bool ShimKeeper::KillShim() {
  bool found = false;
  const std::string directory = std::filesystem::path(folder_).parent_path().parent_path().string();
  for (const LiveShim& live : FindShims(directory)) {
    if (live.folder == folder_) found = shim::Signal(live.process, SIGKILL) || found;
  }
  return found;
}

void ShimKeeper::Write() {
  if (!socket_.is_open() || !writing_line_.empty()) return;
  if (terminate_) {
    writing_line_ = *std::exchange(terminate_, std::nullopt);
  } else if (!outgoing_.empty()) {
    writing_line_ = std::move(outgoing_.front());
    outgoing_.pop_front();
  } else {
    return;
  }
  asio::async_write(socket_, asio::buffer(writing_line_),
                    [this, alive = alive_, connection = connections_](error_code error, size_t) {
                      if (!*alive || connection != connections_) return;
                      if (error) return;  // the reader sees the end too
                      writing_line_.clear();
                      Write();
                    });
}

// Reaps the shim that this process started, if it has ended.
bool ShimKeeper::OwnShimRuns() {
  if (own_shim_ != 0 && ::waitpid(own_shim_, nullptr, WNOHANG) != 0) own_shim_ = 0;
  return own_shim_ != 0;
}

// No more is to be learned of the shim, which ends soon if it has not.
void ShimKeeper::ReapShim() {
  if (OwnShimRuns()) ReapLater(io_, std::exchange(own_shim_, 0));
}

// The shim is dead and left no exit record, or its folder is of no use.
void ShimKeeper::ProveEnd() {
  shim::ExitRecord record{.note = note_, .boot_id = base::BootId(), .ended_at = clock_.Wall()};
  const bool in_time = clock_.Steady() < prove_until_;
  if (!lock_.open() && KillShim()) {
    note_ = "the rank was ended: " + why_no_lock_;
    if (in_time) return LookLater();
  }
  if (!rank_) rank_ = ReadPidRecord(folder_);
  if (!rank_ && note_.empty()) {
    const base::Result<std::string> said = base::ReadFile(folder_ + "/shim.err", 64 << 10);
    record.launch_error = "trainshim ended before it started the rank";
    record.worker_fault = true;
    for (const std::string& why : {why_no_lock_, said ? *said : std::string()})
      record.launch_error += (why.empty() ? "" : ": ") + why;
    return End(record);
  }
  const std::vector<pid_t> left = rank_ ? EndRemains(*rank_) : std::vector<pid_t>();
  if (!left.empty() && in_time) return LookLater();
  if (record.note.empty()) record.note = "trainshim was killed, and its rank with it";
  if (!lock_.open()) record.note += " (" + why_no_lock_ + ")";
  spdlog::warn("{}: {}", folder_, record.note);
  record.signal = SIGKILL;
  record.leftover_pids = left;
  End(record);
}

void ShimKeeper::End(const shim::ExitRecord& record) {
  ended_ = true;
  outgoing_.clear();
  terminate_.reset();
  kill_timer_.cancel();
  if (!ReadExitRecord(folder_)) {
    if (const base::Status written = shim::Write(folder_, record); !written)
      spdlog::error("{}", written.error().message);
  }
  lock_.Close();
  ReapShim();
  asio::post(io_, [this, alive = alive_, record] {
    if (*alive) callbacks_.on_ended(record);
  });
}

}  // namespace trainctl::agent
