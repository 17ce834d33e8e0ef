// The worker's commands to the rank, read by a thread of their own. Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace trainctl::train {

class Commands {
 public:
  // fd < 0: none will come. Takes the descriptor over.
  explicit Commands(int fd);
  ~Commands();

  bool stop_requested() const { return stop_requested_; }
  // As the worker's stop command. Safe in a signal handler.
  void RequestStop() { stop_requested_ = true; }
  // Blocks until the peers' blob is there; nullopt after the timeout, or when no command can come
  // any more.
  std::optional<std::string> AwaitPeers(double timeout_seconds);

 private:
  void Run();
  void Handle(const std::string& line);

  const int fd_;
  int wake_[2] = {-1, -1};  // a pipe that ends the reader
  std::atomic<bool> stop_requested_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::string> peers_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace trainctl::train
