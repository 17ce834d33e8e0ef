// What a worker reports about a rank: the rank's own messages, passed on unread, and two facts.
// Only the worker knows these: how the rank's process tree ended, and that it could not be started.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "common/job/outcome.h"
#include "common/rank/rank_key.h"
#include "common/rank/rank_messages.h"

namespace trainctl::job {

// The rank's whole process tree is gone: one of exit_code and signal is set, or neither where
// nobody saw the end (the host restarted).
struct RankExit {
  std::optional<int64_t> exit_code;
  std::optional<int64_t> signal;
  bool oom_killed = false;  // by the kernel's OOM killer
  int64_t age_us = 0;       // how long ago it was when the worker said so: hosts' clocks differ
  std::string last_log_lines;
  // The worker ended it by itself, at the deadline that it kept (deadline.h): as what, and why.
  std::optional<Outcome> deadline = {};
  std::string deadline_message = {};
};

// The rank never ran: no shim, no such path, folder not writable.
struct LaunchFailure {
  std::string message;
  bool worker_fault = false;  // the worker can start no rank now; another may
};

// Stands for a line of the rank that is no message, or none that this version can read.
struct UnreadableMessage {
  std::string why;
};

using ReportBody = std::variant<RankStarted, RankPhase, RankRendezvous, RankProgress, RankMetrics,
                                RankSaved, RankNotice, RankContinuation, RankOutcome, RankDropped,
                                RankExit, LaunchFailure, UnreadableMessage>;

// A rank's message as a report's body.
ReportBody ToBody(RankMessage message);

// One report. Numbered from 1 for each key, without gaps.
struct RankReport {
  RankKey key;
  int64_t sequence = 0;
  ReportBody body;
  int64_t age_us = 0;  // how long ago the rank said it when the worker passed it on; 0: just now,
                       // or not known
};

}  // namespace trainctl::job
