// The scheduler: a pure function of state, event and time. Events of one coordinator pass through
// here one at a time; the same state, events and times give the same actions.
//
// The rules, in one place:
//   Queue      by priority (higher first), then by age. A job that cannot be placed now holds back
//              every device that it could use, and its start is reserved. Jobs behind it get only
//              devices that it could not use, or where its start does not move (holds.h). So
//              nothing starves within its priority. Devices may be idle while a big gang waits. A
//              job that could not be placed even on the empty site holds nothing back.
//   Inspection a job that was accepted uninspected is inspected first, by an idle worker if there
//              is one. It holds back nobody meanwhile. What cannot be read, or fits no device, is
//              LAUNCH_FAILED. If nobody looks it starts all the same. One submitted by force is
//              inspected when its devices are free.
//   Following  a job that follows others (resources.after) holds nothing until they have ended. If
//              one ends otherwise than it is to, the follower is CANCELLED: it could never start.
//   Groups     of a bounded group so many jobs are under way at once; the others hold nothing.
//   Quota      a user's jobs get as many devices at once as the site grants, in the queue's order.
//              Whoever waits for that holds back no job of others, and none that ends before
//              enough is left (quota.h).
//   Share      where the site says so, of one priority the jobs of whoever used less go first
//              (fair_share.h).
//   Placement  a gang gets all its devices in one Step, or none. A device is placeable while its
//              worker is connected, says that it is free, and no attempt holds it.
//   Preemption a job takes devices of jobs that allow it, where it could start then. Their priority
//              is lower, and they have had their time. They queue again (preempt.h).
//   Stop       the first rank that fails stops its gang at once. So do cancel, time_limit,
//              step_timeout, and a worker away for worker_grace. No rank of the gang is started
//              again within the attempt.
//   End        an attempt ends when two things hold. Each rank's processes are proven gone. Each
//              connected worker of it has said whether its device is free. A rank whose worker
//              stays away for worker_grace is given up, unless another attempt would follow. That
//              one waits for proof: an exit record, a new boot id, or an operator's fence. Its
//              device waits for its worker's word in any case.
//   Loan       a site whose devices are lent until a time stops all jobs before it, PREEMPTED, and
//              they queue again. Whatever ended with its host is PREEMPTED too (loan.h).
//   Trial      of a micro batch that was asked as "auto", in the job's first attempt. A gang that
//              runs out of memory in it is started again with a smaller one, down to 1. That keeps
//              the job's place in the queue, and is not counted as a restart. Once proven, later
//              attempts keep it.
//   Restart    up to max_restarts after FAILED by a signal, HANG, NCCL_ERROR, GPU_FAULT, NODE_LOST;
//              the job queues again at its place. It pauses first, and goes elsewhere if it can
//              (retry.h).
#pragma once

#include "server/core/actions.h"
#include "server/core/events.h"
#include "server/core/state.h"

namespace trainctl::core {

Actions Step(State& state, const Event& event, const Now& now);

}  // namespace trainctl::core
