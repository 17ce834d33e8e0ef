// What a worker reports about a rank ↔ v1::RankReport: the rank's own messages (common/job/rank_messages.h), and the two facts that
// only the worker knows: how its process tree ended, and that it could not be started.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "common/base/result.h"
#include "common/job/rank_messages.h"
#include "common/wire/rank_key.h"

namespace trainctl::v1 {
class RankReport;
}

namespace trainctl::wire {

// The rank's whole process tree is gone: one of exit_code and signal is set, or neither where nobody saw the end (the host restarted).
struct RankExit {
  std::optional<int64_t> exit_code;
  std::optional<int64_t> signal;
  bool oom_killed = false;  // by the kernel's OOM killer
  std::string last_log_lines;
};

// The rank never ran.
struct LaunchFailure {
  std::string message;
};

using ReportBody = std::variant<job::RankStarted, job::RankPhase, job::RankRendezvous, job::RankProgress, job::RankMetrics, job::RankSaved,
                                job::RankNotice, job::RankOutcome, RankExit, LaunchFailure>;

// One report. Numbered from 1 for each key, without gaps.
struct RankReport {
  RankKey key;
  int64_t sequence = 0;
  ReportBody body;
};

v1::RankReport ToWire(const RankReport& report);

// A rank's message as a report's body.
ReportBody ToBody(job::RankMessage message);

// kInvalid names the field, e.g. "metrics.points[3].step: -1: expected a number from 0". Texts are taken as they are.
base::Result<RankReport> FromWire(const v1::RankReport& message);

}  // namespace trainctl::wire
