// How long a lab's experiments take together on a site: "does my lab fit my three hours". Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/show/output.h"
#include "client/submit/assessment.h"

namespace trainctl::client {

struct LabTime {
  double seconds = 0;       // from the first start to the last end, with nobody else on the site
  int64_t devices = 0;      // that were reckoned with
  int64_t used = 0;         // of them: what one experiment after the other leaves idle is not
  int64_t experiments = 0;  // whose time is predicted
  int64_t unknown = 0;      // accepted, but without a predicted time
  int64_t refused = 0;
};

// Each experiment in its turn on the devices that are free first, as the scheduler has it; at most
// max_parallel at once, if that is said.
LabTime PredictLab(const std::vector<Assessment>& assessments,
                   std::optional<int64_t> max_parallel = std::nullopt);

bool Fits(const LabTime& lab, int64_t within_seconds);

// "2h 10min predicted for 14 experiments on 4 devices; fits 3h". within_seconds: what it is to fit.
// whose: words behind that, ", which the lease lab has left".
std::string LabText(const LabTime& lab, std::optional<int64_t> within_seconds,
                    const std::string& whose = "");
// {"seconds", "devices", "experiments", "unknown", "refused", "fits"}; fits is null without a time
// to fit.
Json LabJson(const LabTime& lab, std::optional<int64_t> within_seconds);

}  // namespace trainctl::client
