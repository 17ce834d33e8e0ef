// A value of a comparison as text, and the name of a job above or beside it. Pure.
#pragma once

#include <string>

#include "client/show/output.h"
#include "client/show/text_table.h"
#include "common/record/comparison_record.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

using record::ValueJson;

// "1min 39s"; "–" where the job has none, "none" of a setting.
std::string ValueText(const v1::CompareRow& row, const v1::CompareValue& value);

// With its percentage, mark and note: "1min 39s  −21.9 % * (9 steps)".
TextCell ValueCell(const v1::CompareRow& row, const v1::CompareValue& value);

// "tiny (j1)"; a longer name ends in "…". longest_name 0: unlimited.
std::string HeadingOf(const v1::ComparedJob& job, int longest_name);

}  // namespace trainctl::client
