// Starts the rank's program: in a process group of its own, with stdin from /dev/null, stdout and
// stderr into the log pipe, messages out on descriptor 3, commands in on descriptor 4, and the
// kernel's word that it dies with its shim (PR_SET_PDEATHSIG). Environment, working directory and
// umask pass as they are; signals are as after a fresh start.
//
// In two steps, so that no rank ever runs off the record: Fork makes a process that waits; Release
// lets it run the program.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/base/result.h"
#include "worker/shim/descriptor.h"

namespace trainctl::shim {

inline constexpr int kMessagesFd = 3;
inline constexpr int kCommandsFd = 4;

class RankProcess {
 public:
  // kIo: no pipe or no process to be had.
  static base::Result<RankProcess> Fork(const std::vector<std::string>& command);

  // kIo: the program can't be run, and why; the process ends. Returns once the program has started.
  base::Status Release();
  // Instead of Release: the process ends without running anything.
  void Abandon() { gate_.Close(); }

  pid_t pid() const { return pid_; }
  // The shim's ends, non-blocking.
  Descriptor& log() { return log_; }
  Descriptor& messages() { return messages_; }
  Descriptor& commands() { return commands_; }

 private:
  pid_t pid_ = 0;
  Descriptor log_, messages_, commands_;
  Descriptor gate_;     // a byte lets the process run
  Descriptor failure_;  // errno of a failed exec, or its end
  std::string program_;
};

}  // namespace trainctl::shim
