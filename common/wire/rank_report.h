// What a worker reports about a rank (common/rank/rank_report.h) ↔ v1::RankReport.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.h"
#include "common/rank/rank_report.h"

namespace trainctl::v1 {
class RankReport;
}

namespace trainctl::wire {

// A line of the rank, passed on unread.
v1::RankReport ToWire(const job::RankKey& key, int64_t sequence, std::string line);
v1::RankReport ToWire(const job::RankReport& report);

// Texts are taken as they are. kInvalid names the field: no rank, or no sequence. A body that can't
// be read is an UnreadableMessage, since the reports behind it can be.
base::Result<job::RankReport> FromWire(const v1::RankReport& message);

}  // namespace trainctl::wire
