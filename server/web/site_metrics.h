// /metrics: the site, and the coordinator's own work, as Prometheus scrapes them. Labels are
// bounded: states, outcomes, RPCs, and the workers of the inventory up to kMaxWorkers.
#pragma once

#include <cstdint>
#include <string>

#include "server/coordinator/coordinator.h"
#include "server/meters/meters.h"
#include "server/store/reader.h"

namespace trainctl::web {

inline constexpr int kMaxWorkers = 1024;

struct MetricsSource {
  const coordinator::Coordinator& coordinator;
  const meters::Meters& meters;
  int64_t refused_calls;  // because their user called too often
  const store::JobCounts& jobs;
  std::string version;
};

// The loop's thread.
std::string SiteMetrics(const MetricsSource& source);

}  // namespace trainctl::web
