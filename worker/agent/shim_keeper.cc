#include "worker/agent/shim_keeper.h"

#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "common/base/file.h"
#include "worker/agent/rank_records.h"
#include "worker/agent/remains.h"
#include "worker/agent/spawn.h"
#include "worker/shim/control_socket.h"
#include "worker/shim/process_table.h"

namespace trainctl::agent {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr auto kLookInterval = std::chrono::milliseconds(20);
constexpr base::SteadyMicros kProveMicros =
    30'000'000;  // then what is left is in uninterruptible sleep, and said to be

}  // namespace

ShimKeeper::ShimKeeper(asio::io_context& io, const base::Clock& clock, std::string folder,
                       Callbacks callbacks)
    : io_(io),
      clock_(clock),
      folder_(std::move(folder)),
      callbacks_(std::move(callbacks)),
      socket_(io),
      timer_(io) {}

ShimKeeper::~ShimKeeper() {
  *alive_ = false;
  OwnShimRuns();  // reaps it where it has ended
}

void ShimKeeper::Launch(const ShimCommand& command) {
  std::vector<std::string> arguments = {command.program, "--dir", folder_};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  base::Result<pid_t> pid = Spawn({.arguments = arguments,
                                   .environment = command.environment,
                                   .output_path = folder_ + "/shim.err"});
  if (!pid) return Fail(pid.error().message);
  own_shim_ = *pid;
  Look();
}

void ShimKeeper::Fail(const std::string& launch_error) {
  End({.launch_error = launch_error, .boot_id = shim::BootId(), .ended_at = clock_.Wall()});
}

void ShimKeeper::Adopt() { Look(); }

// Connects to a shim that listens; else finds out whether one is still to come, or has ended, or
// was killed.
void ShimKeeper::Look() {
  if (ended_ || socket_.is_open()) return;
  if (prove_until_ != 0) return ProveEnd();
  if (const std::optional<shim::ExitRecord> record = ReadExitRecord(folder_)) return End(*record);
  if (Connect()) return Read();
  if (OwnShimRuns()) return LookLater();
  base::Result<shim::Descriptor> lock = shim::LockFolder(folder_);
  if (!lock) return LookLater();
  if (const std::optional<shim::ExitRecord> record = ReadExitRecord(folder_))
    return End(*record);     // written just before the lock was free
  lock_ = std::move(*lock);  // no shim lives here, and none can start any more
  prove_until_ = clock_.Steady() + kProveMicros;
  ProveEnd();
}

void ShimKeeper::LookLater() {
  timer_.expires_after(kLookInterval);
  timer_.async_wait([this, alive = alive_](error_code error) {
    if (*alive && !error) Look();
  });
}

bool ShimKeeper::Connect() {
  const base::Result<shim::SocketName> name = shim::NameSocket(folder_);
  if (!name) return false;
  error_code error;
  socket_.connect(asio::local::stream_protocol::endpoint(name->path), error);
  if (error) socket_.close(error);
  if (!socket_.is_open()) return false;
  if (!outgoing_.empty()) Write();
  return true;
}

// What the shim says is a wake-up: what there is, the files tell.
void ShimKeeper::Read() {
  socket_.async_read_some(asio::buffer(bytes_), [this, alive = alive_](error_code error, size_t) {
    if (!*alive) return;
    if (error) return Disconnected();
    callbacks_.on_data();
    if (*alive) Read();
  });
}

void ShimKeeper::Disconnected() {
  error_code ignored;
  socket_.close(ignored);
  Look();
}

void ShimKeeper::Send(const std::string& line) {
  if (ended_ || outgoing_.size() >= kMaxWaiting) return;
  outgoing_.push_back(line + "\n");
  if (socket_.is_open()) Write();
}

void ShimKeeper::Offer(const std::string& line) {
  if (socket_.is_open()) Send(line);
}

void ShimKeeper::Write() {
  if (writing_ || outgoing_.empty()) return;
  writing_ = true;
  asio::async_write(socket_, asio::buffer(outgoing_.front()),
                    [this, alive = alive_](error_code error, size_t) {
                      if (!*alive) return;
                      writing_ = false;
                      if (error) return;  // the reader sees the end too
                      outgoing_.pop_front();
                      Write();
                    });
}

// Reaps the shim that this process started, if it has ended.
bool ShimKeeper::OwnShimRuns() {
  if (own_shim_ != 0 && ::waitpid(own_shim_, nullptr, WNOHANG) != 0) own_shim_ = 0;
  return own_shim_ != 0;
}

// The shim is dead and left no exit record.
void ShimKeeper::ProveEnd() {
  shim::ExitRecord record{.boot_id = shim::BootId(), .ended_at = clock_.Wall()};
  const std::optional<shim::PidRecord> rank = ReadPidRecord(folder_);
  if (!rank) {
    const base::Result<std::string> said = base::ReadFile(folder_ + "/shim.err", 64 << 10);
    record.launch_error = "trainshim ended before it started the rank" +
                          (said && !said->empty() ? ": " + *said : std::string());
    return End(record);
  }
  const std::vector<pid_t> left = EndRemains(*rank);
  if (!left.empty() && clock_.Steady() < prove_until_) return LookLater();
  spdlog::warn("{}: the shim was killed; its rank went with it", folder_);
  record.signal = SIGKILL;
  record.leftover_pids = left;
  End(record);
}

void ShimKeeper::End(const shim::ExitRecord& record) {
  ended_ = true;
  outgoing_.clear();
  if (!ReadExitRecord(folder_)) {
    if (const base::Status written = shim::Write(folder_, record); !written)
      spdlog::error("{}", written.error().message);
  }
  lock_.Close();
  asio::post(io_, [this, alive = alive_, record] {
    if (*alive) callbacks_.on_ended(record);
  });
}

}  // namespace trainctl::agent
