#include "tests/server/simulation/kept_logs.h"

#include <gtest/gtest.h>

#include <utility>

namespace trainctl::core {

void KeptLogs::Check(const SimCluster& cluster) {
  const Kept& kept = cluster.kept();
  const bool is_lost = std::exchange(losses_, cluster.losses()) != cluster.losses();
  const std::set<base::JobId> before = std::exchange(with_logs_, {});
  for (const auto& [id, job] : kept.ledger.jobs()) {
    const bool has_logs = cluster.HasLogs(id);
    if (has_logs) with_logs_.insert(id);
    if (has_logs || is_lost || !before.contains(id)) continue;
    ASSERT_TRUE(kept.logs_removed.contains(id))
        << "the logs of " << base::ToString(id) << " are gone, and nobody knows why";
  }
}

}  // namespace trainctl::core
