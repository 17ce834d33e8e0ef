// A listing of jobs on a screen that has not room for all. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/show/text_table.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

// The table of those that fit into so many lines, in their order: first what runs, then the newest.
// Below it how many were left out. lines 0: all.
std::string JobsInView(const std::vector<v1::JobView>& views, int64_t now,
                       const TableLayout& layout, int lines);

}  // namespace trainctl::client
