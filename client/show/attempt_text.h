// How an attempt ended, in words for the terminal. Pure.
#pragma once

#include <string>

#include "common/job/outcome.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

// "FAILED (rank 1, exit code 3): its message"; "running".
std::string AttemptEndText(const v1::AttemptView& attempt);

// A line of what memory held where it ran out.
std::string OomLine(const job::OomDetail& oom);

// The last lines that the rank printed which ended the attempt. Empty where it succeeded.
std::string LastLinesText(const v1::AttemptView& attempt);

}  // namespace trainctl::client
