// Which of the processes that use a GPU are nobody's here, and whose they are. The driver names
// them by pids of the host, which may name others inside a container. They are believed there only
// where one of them is our rank's. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "common/job/samples.h"
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
  explicit ForeignProcesses(bool sees_pids_of_the_host = SeesPidsOfTheHost())
      : sees_pids_(sees_pids_of_the_host) {}

  // Those that hold most first, at most kMaxForeignProcesses. While a rank runs that can't be told
  // from them, none. Without names where pids can't be believed.
  std::vector<job::ForeignProcess> Among(const std::vector<GpuProcess>& processes,
                                         const OwnProcesses& own);

 private:
  const std::string& NameOf(uid_t user);

  const bool sees_pids_;
  std::map<uid_t, std::string> names_;  // a directory of users may answer slowly
};

}  // namespace trainctl::agent
