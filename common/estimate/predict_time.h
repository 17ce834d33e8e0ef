// How long a job will take, by what a site has measured before. Pure, thread-safe.
#pragma once

#include <optional>
#include <string_view>

#include "common/estimate/run_time.h"

namespace trainctl::job {

// From earlier runs of the same shape on the device, else from its rates; start and load as they
// took there. nullopt: neither is known, or the data do not make a step. holds_gradients as in
// gradient_holding.h.
std::optional<TimeEstimate> PredictTime(const JobSpec& job, const Inspection& inspection,
                                        std::string_view device_name, bool holds_gradients,
                                        const EarlierTimes& earlier);

}  // namespace trainctl::job
