// Backups of the site's database, on a thread of their own: neither the loop nor a listing waits
// for one. One is written at a time.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/base/result.h"
#include "server/coordinator/event_loop.h"
#include "server/store/backup.h"

namespace trainctl::coordinator {

class BackupThread {
 public:
  // directory: of the database.
  BackupThread(EventLoop& loop, std::string directory)
      : loop_(loop), directory_(std::move(directory)) {
    writes_.Start();
  }
  ~BackupThread() { Stop(); }

  // Any thread; `answer` runs on the loop's. kConflict: another is being written. Others as
  // store::WriteBackup.
  void Ask(std::string file, std::function<void(base::Result<store::Backup>)> answer) {
    if (is_writing_.exchange(true)) {
      const base::Error busy{base::Code::kConflict,
                             "another backup is being written: wait for its end"};
      return loop_.Post([answer = std::move(answer), busy] { answer(busy); });
    }
    writes_.Post([this, file = std::move(file), answer = std::move(answer)] {
      auto result = std::make_shared<base::Result<store::Backup>>(
          store::WriteBackup(directory_, file, stops_));
      is_writing_ = false;
      loop_.Post([answer, result] { answer(std::move(*result)); });
    });
  }

  // What is being written fails at once, and what is asked from now on. Any thread.
  void GiveUp() { stops_ = true; }
  // Answers what was asked before. Not on the loop's thread. Idempotent.
  void Stop() {
    GiveUp();
    writes_.Stop();
  }

 private:
  EventLoop& loop_;
  const std::string directory_;
  std::atomic<bool> is_writing_ = false;
  std::atomic<bool> stops_ = false;
  EventLoop writes_;
};

}  // namespace trainctl::coordinator
