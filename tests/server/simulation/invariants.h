// What must hold after every step of the cluster, whatever happened. Each reports what it finds
// wrong as a test failure.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "tests/server/simulation/kept_logs.h"
#include "tests/server/simulation/sim_cluster.h"

namespace trainctl::core {

class Invariants {
 public:
  // After every step. What costs much after every eighth, and of a large cluster less often.
  void Check(const SimCluster& cluster);
  // Of the end, when every job is FINISHED.
  void CheckEnd(const SimCluster& cluster);

 private:
  static constexpr int64_t kStepsPerLargeCheck = 4;
  static constexpr int64_t kChecksPerRestore = 8;

  void CheckState(const SimCluster& cluster);
  static void CheckWhatIsStored(const SimCluster& cluster);
  void TerminalStatesStay(const SimCluster& cluster);

  int64_t steps_ = 0, checks_ = 0;
  size_t losses_ = 0;  // SimCluster::kept_ends that were looked at
  std::map<base::JobId, std::string> ends_;
  KeptLogs kept_logs_;
};

}  // namespace trainctl::core
