// One handler an event, and the scheduler's pass that follows. Internal to this room.
#pragma once

#include "server/core/events.h"
#include "server/core/turn.h"

namespace trainctl::core {

void Handle(Turn& turn, const JobsSubmitted& event);       // jobs.cc
void Handle(Turn& turn, const CancelRequested& event);     // jobs.cc
void Handle(Turn& turn, const JobsRemoved& event);         // jobs.cc
void Handle(Turn& turn, const WorkerHello& event);         // hello.cc
void Handle(Turn& turn, const WorkerStreamLost& event);    // workers.cc
void Handle(Turn& turn, const WorkerFenced& event);        // workers.cc
void Handle(Turn& turn, const WorkerRemoved& event);       // workers.cc
void Handle(Turn& turn, const DevicesDrained& event);      // drain.cc
void Handle(Turn& turn, const DevicesUndrained& event);    // drain.cc
void Handle(Turn& turn, const LeaseMade& event);           // lease_events.cc
void Handle(Turn& turn, const LeaseExtended& event);       // lease_events.cc
void Handle(Turn& turn, const LeaseDeleted& event);        // lease_events.cc
void Handle(Turn& turn, const DeviceStateChanged& event);  // workers.cc
void Handle(Turn& turn, const DeviceFaultsTold& event);    // faults.cc
void Handle(Turn& turn, const HostTroubled& event);        // workers.cc
void Handle(Turn& turn, const RankReported& event);        // reports.cc
void Handle(Turn& turn, const JobInspected& event);        // inspect.cc
void Handle(Turn& turn, const Tick& event);                // deadlines.cc

// Places what can be placed, by the rules of step.h.
void Schedule(Turn& turn);

// Step with another scheduler.
Actions StepWith(State& state, const Event& event, const Now& now, void (*schedule)(Turn&));

}  // namespace trainctl::core
