// The devices that a job may use at all where its constraints name workers, by host or label. A
// class of device knows no workers, so such a job has a part of each class. Pure; internal to this
// room.
#pragma once

#include "server/core/state.h"

namespace trainctl::core {

// nullptr: the job names no workers, and any device of a class will do.
const Reach* ReachOf(const State& state, const Job& job);

// As far as its worker goes.
bool Reaches(const State& state, const Job& job, placement::DeviceId device);

// How many devices of the class the job reaches: free or not, LOST and drained ones too.
ReachCount CountOf(const State& state, const Job& job, placement::ClassId id);
// Of those, how many are free now.
int64_t FreeOf(const State& state, const Job& job, placement::ClassId id);

}  // namespace trainctl::core
