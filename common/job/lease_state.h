// What a lease can be, as people see it. Pure.
#pragma once

#include <optional>
#include <string_view>

namespace trainctl::job {

// kEnding: nothing starts under it any more, or it is over.
enum class LeaseState { kUpcoming, kActive, kEnding };

std::string_view Name(LeaseState state);  // "UPCOMING"
std::optional<LeaseState> ParseLeaseState(std::string_view name);

}  // namespace trainctl::job
