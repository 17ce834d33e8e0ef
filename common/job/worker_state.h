// What a worker can be for jobs, as people see it. Pure.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace trainctl::job {

// kBusy: a job has its device, which may be drained or faulty. kBad, kSuspect: its driver told of a
// fault (device_fault.h). kDirty: its device is not free, or not known to be, though nothing of
// ours should run on it. kDrained: it would be kReady. kLeased: it is, for the jobs of its lease.
enum class WorkerState { kReady, kBusy, kLost, kBad, kSuspect, kDirty, kDrained, kLeased };

inline constexpr std::array kWorkerStates = {
    WorkerState::kReady,   WorkerState::kBusy,  WorkerState::kLost,    WorkerState::kBad,
    WorkerState::kSuspect, WorkerState::kDirty, WorkerState::kDrained, WorkerState::kLeased};

std::string_view Name(WorkerState state);  // "READY"
std::optional<WorkerState> ParseWorkerState(std::string_view name);

}  // namespace trainctl::job
