// Times of what the site has run before, in place of those from a device's rates.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/advice/way.h"
#include "common/job/site.h"

namespace trainctl::advice {

struct TimeQuestion {
  job::JobSpec job;
  job::MemoryEstimate memory;
  std::string device_name;  // that it computes under (job/site.h)
};
struct TimesTold {
  std::vector<std::optional<job::TimeEstimate>> times;  // one a question, in their order
  std::vector<job::DevicePower> powers;                 // what the site's devices draw
};
using PredictTimes = std::function<TimesTold(const std::vector<TimeQuestion>&)>;

// Asks once, of the job as it is and of the ways that may come to the front: the front and the
// fastest by rates. Times from rates are then put on one footing with these (calibration.h), and
// the ways are sorted by time. What devices draw counts for all. `devices`: the equal ones, at
// least one.
void TakeEarlierTimes(const std::vector<job::SiteDevice>& devices, const PredictTimes& predict,
                      Ways* ways);

}  // namespace trainctl::advice
