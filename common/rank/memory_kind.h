// The kinds of memory, one row each: a member of MemoryByKind, its name in JSON and the metric that
// it is reported as. To add a kind: its member (common/job/outcome.h), its row, its metric's row,
// and what measures it.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "common/job/json_fields.h"
#include "common/job/outcome.h"
#include "common/rank/metric.h"

namespace trainctl::job {

struct MemoryKind {
  std::string_view name;
  int64_t MemoryByKind::* bytes;
  Metric metric;
};

inline constexpr MemoryKind kMemoryKinds[] = {
    {"params", &MemoryByKind::params, Metric::kMemoryParams},
    {"grads", &MemoryByKind::grads, Metric::kMemoryGrads},
    {"optimizer", &MemoryByKind::optimizer, Metric::kMemoryOptimizer},
    {"optimizer_cpu", &MemoryByKind::optimizer_cpu, Metric::kMemoryOptimizerCpu},
    {"other", &MemoryByKind::other, Metric::kMemoryOther},
    {"allocated", &MemoryByKind::allocated, Metric::kMemoryAllocated},
    {"peak_allocated", &MemoryByKind::peak_allocated, Metric::kMemoryPeakAllocated},
    {"reserved", &MemoryByKind::reserved, Metric::kMemoryReserved},
};

// MemoryByKind as JSON, in bytes.
inline constexpr auto kMemoryFields = [](auto& fields, auto& memory) {
  for (const MemoryKind& kind : kMemoryKinds)
    fields.Within(kind.name, memory.*kind.bytes, 0, std::numeric_limits<int64_t>::max());
};

}  // namespace trainctl::job
