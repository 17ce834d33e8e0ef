// How much of what all share one Unix user may take.
#pragma once

#include <cstdint>

namespace trainctl::auth {

struct UserBounds {
  int64_t connections = 256;   // at once; users whose programs may be workers have no such bound
  int64_t streams = 128;       // at once: who watches jobs, or reads logs or metrics
  int64_t queued_jobs = 2000;  // that wait at once
};

}  // namespace trainctl::auth
