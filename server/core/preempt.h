// Preemption: a job of higher priority takes the devices of jobs that allow it. Internal to this
// room.
//
// A job that waits may have devices of jobs whose file says resources.preemptible. Their priority
// is strictly lower, and they have had their devices for the site's minimum (site_policy.h). It
// takes them only if it could start once they are gone, by the same choice as any (choice.h).
// Devices of jobs that are being stopped already count as theirs who wait: nobody else is stopped
// for them.
//
// Who gives way is stopped as a lease's end stops, and ends PREEMPTED, which queues it again. All
// of that is in the attempt's stored stop. So a coordinator that starts again goes on with it.
#pragma once

#include <cstdint>
#include <optional>

#include "server/core/holds.h"
#include "server/core/turn.h"

namespace trainctl::core {

// The job can't be placed, and its priority is above the least: stops those that make way for it,
// if there are such. Of one that is to be inspected once its devices are free: nobody. False: there
// are such, and this pass may not preempt. Then it goes on, and nobody passes the job.
// `most_held`: how many devices its owner's quota lets it hold (held.h).
bool PreemptFor(Turn& turn, const Holds& holds, const Job& job, int64_t most_held);

// The least priority of those that may give way now; nullopt: there are none. Nor are there any
// while a worker is away and not LOST: it may come back with a free device, as after a restart of
// the coordinator.
std::optional<int64_t> LeastThatMayGiveWay(const State& state, const Now& now);

// Whether one that may be preempted has become so, or one that was stopped is overdue: then who
// waits is looked at again.
bool SomebodyMayGiveWay(State& state, const Now& now);

}  // namespace trainctl::core
