// A metric point as a record of the contract: what metrics prints and export writes.
#pragma once

#include <string>
#include <vector>

#include "common/record/document.h"
#include "proto/trainctl.pb.h"

namespace trainctl::record {

// The members of any point, as columns of a table: "name", "step", "rank", "phase", "value",
// "time".
const std::vector<std::string>& PointColumns();

// {"name", "step", "rank", "value", "time"[, "phase"]}; rank null: of the whole gang; time in
// seconds since the epoch.
Json PointRecord(const v1::MetricPoint& point);

}  // namespace trainctl::record
