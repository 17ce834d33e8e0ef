// Jobs as rows for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/show/output.h"
#include "common/record/job_record.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

using record::JobRecord;
using record::Seconds;

// The jobs as a listing of "jobs"; now in wall microseconds, for the time that running jobs took so
// far.
Listing ListJobs(const std::vector<v1::JobView>& views, int64_t now);

// "host-a/0,1 host-b/2": the workers of all ranks ("host/index"), grouped by host.
std::string PlacementText(const v1::JobView& view);

// Since the start, until the end or now; 0 before the start. It is rounded where it is written, by
// FormatClock, as on the dashboard and in Python.
double ElapsedSeconds(const v1::JobView& view, int64_t now);

// The style of an outcome or state.
Style OutcomeStyle(const v1::JobView& view);

}  // namespace trainctl::client
