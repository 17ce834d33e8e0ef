// Which devices a waiting job could use at all, and why it waits: pure. Internal to this room.
#pragma once

#include <string>
#include <vector>

#include "server/core/state.h"

namespace trainctl::core {

// Classes whose devices meet the job's constraints and of which the site has enough for it, free or
// not, LOST ones included: those that its memory estimate fits, or all where it fits none (such a
// job was submitted on purpose, or before there were devices). Constraints speak of a device's
// class, never of its host.
std::vector<placement::ClassId> UsableClasses(const State& state, const Job& job);

// Reason() of a QUEUED job.
std::string WaitReason(const State& state, const Job& job, const Now& now);

}  // namespace trainctl::core
