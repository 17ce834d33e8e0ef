// Devices that are to become free and stay so: an operator wants to mend them.
#include <string>
#include <vector>

#include "server/core/faults.h"
#include "server/core/handlers.h"

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

}  // namespace

void Handle(Turn& turn, const DevicesDrained& event) {
  if (!IsTarget(turn.state, event.target)) return;
  const DrainRow row{event.target, event.user, event.reason, turn.now.wall};
  turn.state.drains[row.target] = row;
  turn.Persist(row);
  Update(turn);
}

void Handle(Turn& turn, const DevicesUndrained& event) {
  for (const std::string& target : TargetsOf(turn.state, event.target)) {
    if (turn.state.drains.erase(target) > 0) turn.Persist(RemoveDrain{target});
    const auto worker = turn.state.workers.find(target);
    if (worker != turn.state.workers.end()) ClearFaults(turn, worker->second);
  }
  Update(turn);
}

}  // namespace trainctl::core
