// Leases as records of the contract.
#pragma once

#include "common/record/document.h"
#include "proto/trainctl.pb.h"

namespace trainctl::record {

// {"name", "owner", "state", "start", "end", "devices", "jobs", …}.
Json LeaseRecord(const v1::Lease& lease);

}  // namespace trainctl::record
