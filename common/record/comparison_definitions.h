// What the rows of a comparison mean, for people. Pure.
#pragma once

#include <string>
#include <vector>

#include "proto/trainctl.pb.h"

namespace trainctl::record {

// A line each: what holds for all, then of the sections that have rows.
std::vector<std::string> DefinitionsOf(const v1::CompareResponse& response);

}  // namespace trainctl::record
