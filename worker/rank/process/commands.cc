#include "worker/rank/process/commands.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>

#include "common/base/check.h"
#include "common/rank/rank_json.h"

namespace trainctl::train {

Commands::Commands(int fd) : fd_(fd) {
  CHECK(pipe2(wake_, O_CLOEXEC) == 0) << "pipe: errno " << errno;
  thread_ = std::thread([this] { Run(); });
}

Commands::~Commands() {
  close(wake_[1]);
  thread_.join();
  close(wake_[0]);
  if (fd_ >= 0) close(fd_);
}

std::optional<std::string> Commands::AwaitPeers(double timeout_seconds) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(timeout_seconds),
                    [this] { return peers_.has_value() || ended_; });
  return peers_;
}

void Commands::Handle(const std::string& line) {
  const base::Result<job::RankCommand> command = job::RankCommandFromLine(line);
  if (!command) {
    std::fprintf(stderr, "trainrank: a command is not understood: %s\n",
                 command.error().message.c_str());
  } else if (const auto* peers = std::get_if<job::PeersCommand>(&*command)) {
    const std::lock_guard lock(mutex_);
    peers_ = peers->blob;
    changed_.notify_all();
  } else {
    stop_requested_ = true;
  }
}

void Commands::Run() {
  std::string text;
  char buffer[4096];
  while (fd_ >= 0) {
    pollfd polled[2] = {{fd_, POLLIN, 0}, {wake_[0], POLLIN, 0}};
    if (poll(polled, 2, -1) < 0 && errno == EINTR) continue;
    if (polled[1].revents != 0) break;
    const ssize_t count = read(fd_, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer, static_cast<size_t>(count));
    for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      Handle(text.substr(0, end));
      text.erase(0, end + 1);
    }
  }
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

}  // namespace trainctl::train
