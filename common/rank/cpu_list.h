// CPUs of a host as Linux lists them: "0-3,8,10-11". Pure, thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainctl::job {

// "0-3,8,10-11" → 0 1 2 3 8 10 11; what is not understood ends the list.
std::vector<int> ParseCpuList(std::string_view text);

// The other way, in ascending order.
std::string CpuListText(std::vector<int> cpus);

}  // namespace trainctl::job
