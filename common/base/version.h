// What was built, for --version, for the coordinator's report and for the record of each run. In a
// library of its own (trainctl_version), so that a commit relinks the programs and not the tests.
#pragma once

#include <string_view>

namespace trainctl::base {

std::string_view Version();  // "0.1.0"
std::string_view
Commit();  // "82ac421b0c"; "82ac421b0c+" with uncommitted changes; "unknown" outside a git checkout

}  // namespace trainctl::base
