// Where the time of a job's profiled steps went, as tables. Pure.
#pragma once

#include <string>

#include "client/show/text_table.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

// A row for each kind of time, and one for the whole step. "": no step was profiled.
std::string ProfileText(const v1::JobDetail& detail, const TableLayout& layout);
std::string ProfileMarkdown(const v1::JobDetail& detail);

}  // namespace trainctl::client
