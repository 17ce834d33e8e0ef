// A comparison with a row for each job, for where many jobs side by side are too wide. Pure.
#pragma once

#include <string>
#include <vector>

#include "client/show/output.h"
#include "client/show/text_table.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

// As many columns as the terminal is wide, then the next ones below, again beside the jobs' names.
// Notes stand below their columns. places: the jobs in the order in which they are shown.
std::string TransposedText(const v1::CompareResponse& response, const std::vector<int>& places,
                           const TableLayout& layout);

// The whole of it as one table.
TextTable TransposedTable(const v1::CompareResponse& response, const std::vector<int>& places);

// A line of a spreadsheet for each job: its values under the rows' keys.
std::vector<Json> JobRecords(const v1::CompareResponse& response);

}  // namespace trainctl::client
