// A metric point as a record of the contract: what metrics prints and export writes.
#pragma once

#include "common/record/document.h"
#include "proto/trainctl.pb.h"

namespace trainctl::record {

// {"name", "step", "rank", "value", "time"[, "phase"]}; rank null: of the whole gang; time in
// seconds since the epoch.
Json PointRecord(const v1::MetricPoint& point);

}  // namespace trainctl::record
