// What came of "micro_batch_size": "auto", out of a message. Pure.
#pragma once

#include <cstdint>

#include "common/record/document.h"
#include "proto/trainctl.pb.h"

namespace trainctl::record {

// That is run, or to be tried next; 0: the job can't be read.
int64_t SizeNow(const v1::JobDetail& detail);

// Whose trial passed; nullptr: none (yet).
const v1::AttemptView* ProvingAttempt(const v1::JobDetail& detail);

// A trial has found out that its micro batch does not fit.
bool HasFailedTrial(const v1::AttemptView& attempt);

// {"estimated", "size", "proven_by"}: the attempt whose trial proved it, null: none (yet). null
// where a number was asked for.
Json AutoMicroBatchRecord(const v1::JobDetail& detail);

// Attempts, but those that only found out that a micro batch does not fit.
int64_t CountedAttempts(const v1::JobDetail& detail);

}  // namespace trainctl::record
