// What a lease can be, as people see it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace trainctl::job {

// kEnding: nothing starts under it any more, or it is over.
enum class LeaseState { kUpcoming, kActive, kEnding };

std::string_view Name(LeaseState state);  // "UPCOMING"
std::optional<LeaseState> ParseLeaseState(std::string_view name);

// A job that may run for any time gets no device that a lease wants within so long.
inline constexpr int64_t kLeaseClearanceMicros = 3'600'000'000;

}  // namespace trainctl::job
