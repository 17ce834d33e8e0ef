// What a comparison's warnings make of its sections. Pure.
#pragma once

#include <string>

namespace trainctl::v1 {
class CompareResponse;
class CompareRow;
}  // namespace trainctl::v1

namespace trainctl::wire {

// Whether any of its values has a percentage or is the best.
bool IsCompared(const v1::CompareRow& row);

// What stands behind the section's name: "not comparable", where a warning makes its numbers
// doubtful; "in part not comparable", where some of its rows are compared all the same; else empty.
std::string DoubtOf(const v1::CompareResponse& response, const std::string& section);

// Writes down what DoubtOf says of each section of a warning, for those who can't ask it.
void AddDoubts(v1::CompareResponse* response);

}  // namespace trainctl::wire
