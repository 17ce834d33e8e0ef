// Jobs as records of the contract and as rows for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/show/output.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

// {"id", "name", "group", "state", "outcome", "step", "steps", …}; null: not known (yet). Times are
// seconds since the epoch.
Json JobRecord(const v1::JobView& view);

// The jobs as a listing of "jobs"; now in wall microseconds, for the time that running jobs took so
// far.
Listing ListJobs(const std::vector<v1::JobView>& views, int64_t now);

// "host-a/0,1 host-b/2": the workers of all ranks ("host/index"), grouped by host.
std::string PlacementText(const v1::JobView& view);

// Whole seconds since the start, until the end or now, as the two times stand beside it; 0 before
// the start.
double ElapsedSeconds(const v1::JobView& view, int64_t now);

// null for 0: a time that is not known.
Json Seconds(int64_t micros);

// The style of an outcome or state.
Style OutcomeStyle(const v1::JobView& view);

}  // namespace trainctl::client
