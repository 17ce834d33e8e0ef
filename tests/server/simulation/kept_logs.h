// What ranks wrote stays until it is stored that it goes: by the site's policy, or with its job.
#pragma once

#include <set>

#include "tests/server/simulation/sim_cluster.h"

namespace trainctl::core {

class KeptLogs {
 public:
  // Now and then.
  void Check(const SimCluster& cluster);

 private:
  std::set<base::JobId> with_logs_;  // at the check before
  int64_t losses_ = 0;
};

}  // namespace trainctl::core
