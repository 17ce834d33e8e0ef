// A comparison of runs as records of the contract. Pure.
#pragma once

#include <vector>

#include "common/record/document.h"
#include "proto/trainctl.pb.h"

namespace trainctl::record {

// Whole numbers as such; null where the job has no value.
Json ValueJson(const v1::CompareValue& value);

// {"jobs", "rows", "same", "warnings"}.
Json ComparisonDocument(const v1::CompareResponse& response);
// A record for each row: its values as a list.
std::vector<Json> RowRecords(const v1::CompareResponse& response);

}  // namespace trainctl::record
