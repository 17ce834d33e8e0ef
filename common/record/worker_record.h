// Workers as records of the contract.
#pragma once

#include "common/record/document.h"
#include "proto/trainctl.pb.h"

namespace trainctl::record {

// {"name", "host", "state", "reason", "job", "last_seen", "device": {…}, "gpu": {…} | null, …}.
Json WorkerRecord(const v1::WorkerView& worker);

}  // namespace trainctl::record
