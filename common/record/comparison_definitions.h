// What the rows of a comparison mean, for people. Pure.
#pragma once

#include <string>
#include <vector>

#include "proto/trainctl.pb.h"

namespace trainctl::record {

// Whether any of its values has a percentage or is the best.
bool IsCompared(const v1::CompareRow& row);

// A line each: what holds for all, then of the sections that have rows.
std::vector<std::string> DefinitionsOf(const v1::CompareResponse& response);

}  // namespace trainctl::record
