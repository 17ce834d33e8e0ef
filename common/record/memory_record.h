// Predictions beside measurements, of one job. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/rank/memory_kind.h"
#include "common/record/document.h"
#include "proto/trainctl.pb.h"

namespace trainctl::record {

// Memory of a rank, in bytes, at a phase of a step. Measured: the most that any rank had there.
struct MemoryRow {
  const job::MemoryKind* kind;  // of kMemoryKinds
  job::Phase phase;
  std::optional<int64_t> predicted;
  std::optional<int64_t> measured;
};

// In the order of kinds, then phases; only rows where one of the two is known.
std::vector<MemoryRow> MemoryRows(const v1::JobDetail& detail);

// What a rank may hold: the job's own limit, or its device's memory; nullopt: neither is known.
std::optional<int64_t> MemoryLimit(const v1::JobDetail& detail,
                                   std::optional<int64_t> device_bytes);

// {"kind", "phase", "predicted_bytes", "measured_bytes", "error"}: error is (predicted − measured)
// / measured; null: not known.
Json MemoryRecord(const MemoryRow& row);

}  // namespace trainctl::record
