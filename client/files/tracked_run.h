// A job as the run that other programs know, and its points as their curves.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "client/api.h"

namespace trainctl::client {

// "j12-1795378784000000", with the time of submission: other sites have a j12 too.
std::string RunIdOf(const v1::JobView& view);

// Of one that waits: its submission. Wall microseconds.
int64_t StartOf(const v1::JobView& view);

// As track::CurveName.
std::string CurveOf(const v1::MetricPoint& point);

// All points that are kept, piece by piece. Errors: the coordinator's, or the first of `take`.
base::Status ReadPoints(Api& api, const std::string& job,
                        const std::function<base::Status(const v1::MetricsResponse&)>& take);

}  // namespace trainctl::client
