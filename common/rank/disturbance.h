// Whether other work on its hosts may have slowed a run. Pure, thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "common/job/neighbour.h"
#include "common/rank/metric.h"

namespace trainctl::job {

// A run on its hosts. What it refers to outlives it.
struct HostUse {
  std::string_view device_name;  // of its ranks
  bool exclusive = false;        // no other job of the site may run there
  std::span<const Neighbour> neighbours;
  std::span<const MetricSummary> metrics;
};

// The jobs with which the run shared processors. None: it ran alone, or its host had some to spare.
std::vector<Neighbour> SharedWith(const HostUse& use);

// How far its host's processors were used, in %. Only where that is all of them, and neither the
// run nor another job of the site explains it.
std::optional<double> ForeignLoad(const HostUse& use);

// Either of the two: its times are not those of a host of its own.
bool IsDisturbed(const HostUse& use);

}  // namespace trainctl::job
