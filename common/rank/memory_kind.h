// The kinds of memory, one row each: a member of MemoryByKind, its names and the metric that it is
// reported as. JSON, API, store and every table follow from the rows. To add a kind: its member
// (common/job/outcome.h), its row, its metric's row, and what measures and predicts it.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "common/job/json_fields.h"
#include "common/job/outcome.h"
#include "common/rank/metric.h"

namespace trainctl::job {

struct MemoryKind {
  std::string_view name;   // in JSON
  std::string_view label;  // for people
  int64_t MemoryByKind::* bytes;
  Metric metric;
  bool is_part = true;              // of what is held; else a sum
  bool is_whole_before_oom = true;  // or not there at all, where a run ends out of memory
};

inline constexpr MemoryKind kMemoryKinds[] = {
    {"params", "parameters", &MemoryByKind::params, Metric::kMemoryParams},
    {"grads", "gradients", &MemoryByKind::grads, Metric::kMemoryGrads},
    {"optimizer", "optimizer", &MemoryByKind::optimizer, Metric::kMemoryOptimizer},
    {"optimizer_cpu", "optimizer (host)", &MemoryByKind::optimizer_cpu,
     Metric::kMemoryOptimizerCpu},
    {"other", "other", &MemoryByKind::other, Metric::kMemoryOther, true, false},
    {"allocated", "allocated", &MemoryByKind::allocated, Metric::kMemoryAllocated, false, false},
    {"peak_allocated", "peak allocated", &MemoryByKind::peak_allocated,
     Metric::kMemoryPeakAllocated, false, false},
    {"reserved", "reserved", &MemoryByKind::reserved, Metric::kMemoryReserved, false, false},
};

// MemoryByKind as JSON, in bytes.
inline constexpr auto kMemoryFields = [](auto& fields, auto& memory) {
  for (const MemoryKind& kind : kMemoryKinds)
    fields.Within(kind.name, memory.*kind.bytes, 0, std::numeric_limits<int64_t>::max());
};

}  // namespace trainctl::job
