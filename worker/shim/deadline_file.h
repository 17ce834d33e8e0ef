// The one reader of deadline.json (rank_folder.h), for worker and shim:
//   {"at", "steady_at", "grace_us", "outcome", "message", "has_come"}
// "at" is by this host's wall clock, for people. "steady_at" counts since its boot, so that no jump
// of that clock moves it; a file of an older worker has "at" alone. The worker writes it
// atomically, so one that is cut or has no such numbers was damaged by somebody else. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/clock.h"
#include "common/base/result.h"

namespace trainctl::shim {

struct DeadlineFile {
  base::SteadyMicros at = 0;
  int64_t grace_us = 0;
  std::string text;  // all of it
};

std::string DeadlinePath(const std::string& rank_folder);

// kNotFound: there is no deadline. kInvalid: the file is damaged, or no regular file; what it says
// counts for nothing. kExhausted: it is too large. Others: it can't be read now. Never blocks.
base::Result<DeadlineFile> ReadDeadline(const std::string& rank_folder, const base::Clock& clock);

}  // namespace trainctl::shim
