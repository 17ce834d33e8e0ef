// Until when a rank may run, which its worker keeps by itself: the coordinator may be out of reach
// by then. Told as a time from now on, since the clocks of hosts differ.
#pragma once

#include <cstdint>
#include <string>

#include "common/job/outcome.h"

namespace trainctl::job {

struct Deadline {
  int64_t in_us = 0;                       // from when it is told; 0: it has come
  int64_t grace_us = 0;                    // then, between terminate and kill
  Outcome outcome = Outcome::kLeaseEnded;  // or TIMEOUT, or PREEMPTED: what such an end is
  std::string message;                     // for people: "lease 'lab' of ann ends …"

  bool operator==(const Deadline&) const = default;
};

// Whether a deadline may make that of an attempt.
constexpr bool IsOfDeadline(Outcome outcome) {
  return outcome == Outcome::kLeaseEnded || outcome == Outcome::kTimeout ||
         outcome == Outcome::kPreempted;
}

}  // namespace trainctl::job
