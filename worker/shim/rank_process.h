// Starts the rank's program in a process group of its own. Its descriptors: stdin from /dev/null,
// stdout and stderr into the log pipe, messages out on descriptor 3, commands in on descriptor 4.
// The kernel ends it when its shim dies (PR_SET_PDEATHSIG). Environment, working directory and
// umask pass as they are; signals are as after a fresh start.
//
// Where a user is named, that process becomes that account's before it looks at anything of the
// job: it then runs without any right of root's. plan.json and scratch are the account's from then
// on.
//
// In two steps, so that no rank ever runs off the record: Fork makes a process that waits; Release
// lets it run the program. That process itself looks for the paths that the rank needs, and finds
// the program. A mount that hangs may hold it there: the shim goes on, and can end it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "common/base/descriptor.h"
#include "common/base/file_roots.h"
#include "common/base/result.h"

namespace trainctl::shim {

inline constexpr int kMessagesFd = 3;
inline constexpr int kCommandsFd = 4;

// What is looked at before the program runs.
struct LaunchPaths {
  struct Named {
    std::string key;  // of the job, that names the path
    std::string path;
    base::FileUse use = base::FileUse::kRead;
    bool needed = false;  // it must be there
  };
  std::vector<Named> named;
  base::FileRoots roots;  // that they must lie in
};

// Whose process it is, where that is not the shim's own user.
struct RankUser {
  std::string name;                      // empty: the shim's own
  std::string folder;                    // the rank's
  std::vector<std::string> environment;  // the shim's: NAME=value
};

class RankProcess {
 public:
  // kIo: no pipe or no process to be had.
  static base::Result<RankProcess> Fork(const std::vector<std::string>& command,
                                        const LaunchPaths& paths, const RankUser& user = {});

  // kIo: the process has ended.
  base::Status Release();
  // Whether the program has started: nullopt, not yet. kNotFound: a needed path is missing.
  // kDenied: a path lies outside of the roots, or there is no such user for jobs. kIo: the program
  // can't be run. After an error the process ends.
  std::optional<base::Status> Started();
  // Instead of Release: the process ends without running anything.
  void Abandon() { gate_.Close(); }

  pid_t pid() const { return pid_; }
  // The shim's ends, non-blocking.
  base::Descriptor& log() { return log_; }
  base::Descriptor& messages() { return messages_; }
  base::Descriptor& commands() { return commands_; }
  // Readable once Started has an answer; closed after that.
  const base::Descriptor& start() const { return failure_; }

 private:
  pid_t pid_ = 0;
  base::Descriptor log_, messages_, commands_;
  base::Descriptor gate_;     // a byte lets the process run
  base::Descriptor failure_;  // a Failure, or its end once the program runs
  std::string program_;
  LaunchPaths paths_;
};

}  // namespace trainctl::shim
