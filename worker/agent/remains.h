// What is left of a rank whose shim was killed: the kernel ended the rank itself with it, but not
// what the rank had started.
#pragma once

#include <sys/types.h>

#include <vector>

#include "worker/shim/rank_folder.h"

namespace trainctl::agent {

// Ends what is still there of the rank: its process, the shim's session, its cgroup leaf. Returns
// those that have not ended yet: call again until there are none. None: the tree is proven gone, as
// it is after a boot in between.
std::vector<pid_t> EndRemains(const shim::PidRecord& rank);

}  // namespace trainctl::agent
