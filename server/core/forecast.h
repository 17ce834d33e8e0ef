// When jobs of the queue may start: a prediction, for those who ask. Pure; internal to this room.
//
// The queue's first jobs are gone through in their order. Each takes the devices that are free
// first, by the ends that are expected. It gives them back after its longest run. Where it is not
// known how long that is, or when it starts, nobody behind it counts on those devices. So it is
// with exclusive jobs, which want whole hosts, and with those that want links.
//
// Whose quota has no room then waits until it has, by the same ends: jobs of others go past.
#pragma once

#include <optional>
#include <string>

#include "server/core/state.h"

namespace trainctl::core {

// nullopt: not known, or it is not among the first kForeseen of the queue.
constexpr size_t kForeseen = 64;
std::optional<base::SteadyMicros> ForeseenStart(const State& state, const Job& job, const Now& now);
// Of one without a start, where one thing is the reason: "behind j5, exclusive", "exclusive".
// Empty: it is not known when the devices that it waits for are free.
std::string WhyNotForeseen(const State& state, const Job& job, const Now& now);

}  // namespace trainctl::core
