// What came of "micro_batch_size": "auto": the estimate's choice, and what trials made of it.
#pragma once

#include <string>

#include "proto/trainctl.pb.h"

namespace trainctl::client {

// "auto: 16 by the estimate, 8 proven by trial (attempt 2)". Empty where a number was asked for.
std::string AutoMicroBatchText(const v1::JobDetail& detail);

// Of an attempt that a trial ended: "micro batch 16 does not fit, found by trial", which is no
// outcome. Empty of others.
std::string FailedTrialText(const v1::AttemptView& attempt);

}  // namespace trainctl::client
