// Which of the processes that use a GPU are nobody's here, and whose they are. The driver names
// them by pids of the host, which may name others inside a container. They are believed there only
// where one of them is our rank's. A directory of users that does not answer holds nobody: it is
// asked on a thread that is given up. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/job/samples.h"
#include "common/peer/socket_owner.h"
#include "worker/agent/gpu_library.h"

namespace trainctl::agent {

struct OwnProcesses {
  bool rank_runs = false;
  std::vector<pid_t> pids = {};  // of the rank and what it has started; empty: not known yet
};

// Whether this process lives in the host's own namespace of pids.
bool SeesPidsOfTheHost();

class ForeignProcesses {
 public:
  using NameOfUser = std::function<std::string(uid_t user)>;

  // name_of: called on threads that may outlive this object; may block.
  explicit ForeignProcesses(bool sees_pids_of_the_host = SeesPidsOfTheHost(),
                            NameOfUser name_of = peer::UserName,
                            std::chrono::milliseconds patience = std::chrono::milliseconds(200));

  // Those that hold most first, at most kMaxForeignProcesses. While a rank runs that can't be told
  // from them, none. Without names where pids can't be believed. Blocks for the patience at most:
  // a user whose name comes later is "uid:1000" until then.
  std::vector<job::ForeignProcess> Among(const std::vector<GpuProcess>& processes,
                                         const OwnProcesses& own);

 private:
  class Names;

  const bool sees_pids_;
  const std::shared_ptr<Names> names_;  // shared with the thread that asks
};

}  // namespace trainctl::agent
