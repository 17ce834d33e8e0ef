// Jobs as records of the contract.
#pragma once

#include "common/record/document.h"
#include "proto/trainctl.pb.h"

namespace trainctl::record {

// {"id", "name", "group", "state", "outcome", "step", "steps", …}; null: not known (yet). Times are
// seconds since the epoch.
Json JobRecord(const v1::JobView& view);

}  // namespace trainctl::record
