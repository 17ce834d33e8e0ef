// Devices that jobs hold, as quotas and fair share count them: a rank its own, and an exclusive job
// all of its hosts', because nobody else can use the rest. Jobs under a lease hold none: their
// devices are their owner's already. Internal to this room.
//
// A job that runs holds what its hosts had when it was placed (RankRow::held_devices). One that
// waits is counted with the fewest that it could get.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/core/state.h"

namespace trainctl::core {

// Of a job of that user that waits, or is about to.
int64_t LeastHeld(const State& state, const std::string& user, const job::JobSpec& spec);
int64_t LeastHeld(const State& state, const Job& job);

// What such a job would hold with these devices.
int64_t HeldWith(const State& state, const Job& job,
                 const std::vector<placement::DeviceId>& devices);

// Of the ranks of an attempt that is placed: what each of them holds.
void CountHeld(const State& state, const Job& job, std::vector<Rank>* ranks);

// What the attempt holds until it ends: all of it, though some may be given back before.
int64_t HeldByAll(const std::vector<Rank>& ranks);

}  // namespace trainctl::core
