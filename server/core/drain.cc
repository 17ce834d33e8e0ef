// Devices that are to become free and stay so: an operator wants to mend them.
#include "server/core/drain.h"

#include <string>
#include <vector>

#include "server/core/faults.h"
#include "server/core/handlers.h"
#include "server/core/slowness.h"

namespace trainctl::core {
namespace {

void Update(Turn& turn) {
  for (const auto& [name, worker] : turn.state.workers) {
    turn.state.free.SetDrained(worker.device, IsKeptOut(turn.state, worker.row));
    UpdateFree(turn, worker);
  }
  turn.placement_may_change = true;  // who could use these devices only holds back nothing now
}

// The target, and of a host its workers.
std::vector<std::string> TargetsOf(const State& state, const std::string& target) {
  std::vector<std::string> targets = {target};
  const auto host = state.hosts.find(target);
  if (host == state.hosts.end()) return targets;
  for (const Worker* worker : host->second) targets.push_back(worker->row.name);
  return targets;
}

// Of a device that is named itself, or where it is asked for.
bool ClearsFaults(const DevicesUndrained& event, const std::string& target) {
  return event.faults || target == event.target;
}

}  // namespace

void Handle(Turn& turn, const DevicesDrained& event) {
  if (!IsTarget(turn.state, event.target)) return;
  DrainRow row{event.target, event.user, event.reason, turn.now.wall};
  const auto known = turn.state.drains.find(event.target);
  if (row.reason.empty() && known != turn.state.drains.end()) row.reason = known->second.reason;
  turn.state.drains[row.target] = row;
  turn.Persist(row);
  Update(turn);
}

Undrained WhatUndrainEnds(const State& state, const DevicesUndrained& event) {
  Undrained what;
  for (const std::string& target : TargetsOf(state, event.target)) {
    const auto drain = state.drains.find(target);
    if (drain != state.drains.end())
      what.ended.push_back("the drain of " + target + DrainText(drain->second));
    const bool clears = ClearsFaults(event, target);
    for (const FaultRow* fault : FaultsOf(state, target)) {
      if (!KeepsOut(*fault)) continue;
      (clears ? what.ended : what.kept)
          .push_back(clears ? job::XidText(fault->fault.xid) + " of " + target
                            : target + " is " + std::string(job::Name(StateOf(*fault))) + ": " +
                                  FaultText(*fault));
    }
    if (clears && SlownessOf(state, target) != nullptr)
      what.ended.push_back("that " + target + " is marked as slow");
  }
  return what;
}

void Handle(Turn& turn, const DevicesUndrained& event) {
  for (const std::string& target : TargetsOf(turn.state, event.target)) {
    if (turn.state.drains.erase(target) > 0) turn.Persist(RemoveDrain{target});
    const auto worker = turn.state.workers.find(target);
    if (worker == turn.state.workers.end() || !ClearsFaults(event, target)) continue;
    ClearFaults(turn, worker->second);
    ClearSlowness(turn, worker->second);
  }
  Update(turn);
}

}  // namespace trainctl::core
