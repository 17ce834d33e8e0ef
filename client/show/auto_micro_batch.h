// What came of "micro_batch_size": "auto": the estimate's choice, and what trials made of it.
#pragma once

#include <cstdint>
#include <string>

#include "client/show/output.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

// "auto: 16 by the estimate, 8 proven by trial (attempt 2)". Empty where a number was asked for.
std::string AutoMicroBatchText(const v1::JobDetail& detail);

// {"estimated", "size", "proven_by"}: the attempt whose trial proved it, null: none (yet). null
// where a number was asked for.
Json AutoMicroBatchRecord(const v1::JobDetail& detail);

// Of an attempt that a trial ended: "micro batch 16 does not fit, found by trial", which is no
// outcome. Empty of others.
std::string FailedTrialText(const v1::AttemptView& attempt);

// Attempts, but those that only found out that a micro batch does not fit.
int64_t CountedAttempts(const v1::JobDetail& detail);

}  // namespace trainctl::client
