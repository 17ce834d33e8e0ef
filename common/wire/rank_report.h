// What a worker reports about a rank (common/rank/rank_report.h) ↔ v1::RankReport.
#pragma once

#include "common/base/result.h"
#include "common/rank/rank_report.h"

namespace trainctl::v1 {
class RankReport;
}

namespace trainctl::wire {

v1::RankReport ToWire(const job::RankReport& report);

// kInvalid names the field, e.g. "metrics.points[3].step: -1: expected a number from 0". Texts are
// taken as they are.
base::Result<job::RankReport> FromWire(const v1::RankReport& message);

}  // namespace trainctl::wire
