// Whether a lease has room for a job, by numbers alone. The coordinator refuses a job by it, and
// trainctl says it before. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/job/job.h"

namespace trainctl::job {

// "lease 'lab' of ann".
std::string LeaseText(const std::string& name, const std::string& owner);

struct LeaseRoom {
  std::string lease;               // LeaseText
  bool is_ending = false;          // nothing starts under it any more
  std::string end;                 // as who says it writes times: "2026-12-01 14:00 UTC"
  int64_t devices = 0;             //
  int64_t whole_host_devices = 0;  // of those, on hosts that it has whole
};
// Why it has none for this job; empty: it has.
std::string NoRoom(const LeaseRoom& room, const JobSpec& job);

// A device of the site.
struct LeasedOrNot {
  std::string host;
  bool leased = false;
};
// Of the lease's devices those on hosts that it has whole.
int64_t DevicesOfWholeHosts(const std::vector<LeasedOrNot>& site);

}  // namespace trainctl::job
