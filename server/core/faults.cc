#include "server/core/faults.h"

#include <algorithm>

#include "server/core/handlers.h"
#include "server/core/leases.h"

namespace trainctl::core {
namespace {

using job::FaultClass;

// What follows from a fault, for the job that ran there.
std::string WhatFollows(const Worker& worker, FaultClass fault_class) {
  switch (fault_class) {
    case FaultClass::kApplication: return "the device is not to blame";
    case FaultClass::kSuspect:
      return "the device is SUSPECT: nothing new is placed there until it has been clean for a "
             "while";
    case FaultClass::kBad:
      return "the device is BAD: nothing new is placed there until trainctl undrain " +
             worker.row.name;
  }
  return "";
}

void Update(Turn& turn, const Worker& worker) {
  turn.state.free.SetDrained(worker.device, IsKeptOut(turn.state, worker.row));
  UpdateFree(turn, worker);
  turn.placement_may_change = true;  // who could use the device only holds back nothing now
}

// A fault that goes on is said again after so long a silence.
constexpr int64_t kSayAgainMicros = 600'000'000;

// A fault that was told before: as FaultIsNews has it.
bool IsNewsAgain(const State& state, const Worker& worker, const FaultRow& last,
                 const job::DeviceFault& fault) {
  if (last.cleared || last.fault.at < fault.at - kSayAgainMicros) return true;
  if (!worker.holder) return false;
  const auto job = state.live.find(worker.holder->job);
  if (job == state.live.end()) return false;
  const base::WallMicros placed_at = job->second->attempt->row.placed_at;
  return last.fault.at < placed_at && fault.at >= placed_at;
}

// What is told no more is over, but for what a worker that has begun anew can't know. A bad fault
// then stays until it is cleared, a suspect one until the device was clean for a while.
void Settle(Turn& turn, const Worker& worker) {
  std::map<int64_t, FaultRow>& rows = turn.state.faults[worker.row.name];
  std::erase_if(rows, [&](const auto& entry) {
    const FaultRow& row = entry.second;
    const int64_t xid = row.fault.xid;
    const bool is_bad = job::ClassOf(xid) == FaultClass::kBad;
    const bool is_forgotten = worker.faults_of_past.contains(xid);
    if (worker.faults_told.contains(xid) || (KeepsOut(row) && (is_bad || is_forgotten)))
      return false;
    turn.Persist(RemoveFault{row.worker, xid});
    return true;
  });
  if (rows.empty()) turn.state.faults.erase(worker.row.name);
  Update(turn, worker);
}

}  // namespace

bool KeepsOut(const FaultRow& fault) {
  return !fault.cleared && job::ClassOf(fault.fault.xid) != FaultClass::kApplication;
}

std::vector<const FaultRow*> FaultsOf(const State& state, const std::string& worker) {
  std::vector<const FaultRow*> faults;
  const auto found = state.faults.find(worker);
  if (found == state.faults.end()) return faults;
  for (const auto& [xid, row] : found->second) faults.push_back(&row);
  std::ranges::stable_sort(faults, std::greater<>(), [](const FaultRow* row) {
    return std::pair(KeepsOut(*row), job::ClassOf(row->fault.xid));
  });
  return faults;
}

const FaultRow* WorstFault(const State& state, const std::string& worker) {
  const std::vector<const FaultRow*> faults = FaultsOf(state, worker);
  return faults.empty() || !KeepsOut(*faults.front()) ? nullptr : faults.front();
}

bool IsKeptOut(const State& state, const WorkerRow& worker) {
  return DrainOf(state, worker) != nullptr || WorstFault(state, worker.name) != nullptr;
}

job::WorkerState StateOf(const FaultRow& fault) {
  return job::ClassOf(fault.fault.xid) == FaultClass::kBad ? job::WorkerState::kBad
                                                           : job::WorkerState::kSuspect;
}

std::string FaultText(const FaultRow& fault) {
  return job::XidText(fault.fault.xid) + " at " + UtcText(fault.fault.at) +
         (job::ClassOf(fault.fault.xid) == FaultClass::kBad
              ? "; to be reset or mended, then trainctl undrain "
              : "; used again by itself, or after trainctl undrain ") +
         fault.worker;
}

void RememberSuspicion(Turn& turn, Worker& worker, const std::string& incarnation) {
  const bool is_same = !incarnation.empty() && incarnation == worker.incarnation;
  if (is_same) return;
  worker.incarnation = incarnation;
  worker.faults_of_past.clear();
  worker.clean_since = turn.now.steady;
  for (const FaultRow* fault : FaultsOf(turn.state, worker.row.name)) {
    const bool is_suspect = job::ClassOf(fault->fault.xid) == FaultClass::kSuspect;
    if (is_suspect && KeepsOut(*fault)) worker.faults_of_past.insert(fault->fault.xid);
  }
}

void EndSuspicion(Turn& turn) {
  const bool is_any_suspect = std::ranges::any_of(turn.state.devices, [](const Worker* worker) {
    return worker != nullptr && !worker->faults_of_past.empty();
  });
  if (!is_any_suspect) return;
  for (auto& [name, worker] : turn.state.workers) {
    const bool is_clean = turn.now.steady - worker.clean_since >= job::kCleanMicros;
    if (worker.faults_of_past.empty() || !worker.connected || !is_clean) continue;
    worker.faults_of_past.clear();
    Settle(turn, worker);
  }
}

void TakeFaults(Turn& turn, Worker& worker, const std::vector<job::DeviceFault>& told) {
  std::map<int64_t, FaultRow>& rows = turn.state.faults[worker.row.name];
  worker.faults_told.clear();
  for (const job::DeviceFault& fault : told) {
    worker.faults_told.insert(fault.xid);
    worker.faults_of_past.erase(fault.xid);
    const auto [entry, is_new] = rows.try_emplace(fault.xid);
    FaultRow& row = entry->second;
    if (!is_new && row.fault == fault) continue;
    const bool is_news = is_new || IsNewsAgain(turn.state, worker, row, fault);
    row = {worker.row.name, worker.row.device.uuid, fault};
    turn.Persist(row);
    if (!is_news) continue;
    turn.Perform(FaultIsNews{row});
    if (!worker.holder) continue;
    Say(turn, worker.holder->job,
        job::XidText(fault.xid) + " on " + worker.row.name + ": " +
            WhatFollows(worker, job::ClassOf(fault.xid)));
    turn.changed.insert(worker.holder->job);
  }
  Settle(turn, worker);
}

void ClearFaults(Turn& turn, const Worker& worker) {
  const auto rows = turn.state.faults.find(worker.row.name);
  if (rows == turn.state.faults.end()) return;
  for (auto& [xid, row] : rows->second) {
    if (row.cleared) continue;
    row.cleared = true;
    turn.Persist(row);
  }
}

void ForgetFaults(Turn& turn, const std::string& worker) {
  const auto rows = turn.state.faults.find(worker);
  if (rows == turn.state.faults.end()) return;
  for (const auto& [xid, row] : rows->second) turn.Persist(RemoveFault{worker, xid});
  turn.state.faults.erase(rows);
}

void Handle(Turn& turn, const DeviceFaultsTold& event) {
  const auto found = turn.state.workers.find(event.worker);
  if (found != turn.state.workers.end()) TakeFaults(turn, found->second, event.faults);
}

}  // namespace trainctl::core
