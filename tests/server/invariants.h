// What must hold after every step of the cluster, whatever happened. Each reports what it finds
// wrong as a test failure.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "tests/server/sim_cluster.h"

namespace trainctl::core {

class Invariants {
 public:
  // After every step; what costs much after every eighth.
  void Check(const SimCluster& cluster);
  // Of the end, when every job is FINISHED.
  void CheckEnd(const SimCluster& cluster);

 private:
  static constexpr int64_t kChecksPerRestore = 8;

  void TerminalStatesStay(const SimCluster& cluster);

  int64_t checks_ = 0, losses_ = 0;
  std::map<base::JobId, std::string> ends_;
};

}  // namespace trainctl::core
