// A comparison of runs as records of the contract. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/record/document.h"
#include "proto/trainctl.pb.h"

namespace trainctl::record {

// Whole numbers as such; null where the job has no value.
Json ValueJson(const v1::CompareValue& value);

// Where the numbers are that this warning makes doubtful: "time", "loss". None: the coordinator is
// of a version that does not say, or there are no such rows.
std::vector<std::string> SectionsOf(const v1::CompareResponse& response, int warning);

// {"jobs", "rows", "same", "warnings", "warning_sections", "doubtful_sections", "definitions"}: of
// each warning its sections; of each of these wire::DoubtOf; what rows mean
// (comparison_definitions.h).
Json ComparisonDocument(const v1::CompareResponse& response);
// A record for each row: its values as a list.
std::vector<Json> RowRecords(const v1::CompareResponse& response);

}  // namespace trainctl::record
