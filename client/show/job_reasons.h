// Why a job is where it is, as trainctl explain says it: what it waits for and who has that, where
// it runs, or what ended it. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "client/show/output.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

// now in wall microseconds.
std::string ReasonsText(const v1::JobDetail& detail, int64_t now, const TableLayout& layout);

// {"id", "name", "state", "outcome", "reason", "predicted_start", "expected_end", "wait", …}; null:
// not known, or not waiting.
Json ReasonsRecord(const v1::JobDetail& detail);

// Whether its last attempt ran out of memory, so that other settings would help.
bool RanOutOfMemory(const v1::JobDetail& detail);

}  // namespace trainctl::client
