// The scheduler as step.h tells it, without any of the short cuts of core's own: the oracle that
// its decisions are held against. It looks at each job in turn. Which devices a job may have, and
// what one that waits holds, it asks of the core (choice.h, holds.h); quotas it counts itself.
#pragma once

#include "server/core/turn.h"

namespace trainctl::core {

// In place of core::Schedule.
void PlainSchedule(Turn& turn);

}  // namespace trainctl::core
