// What a worker can be for jobs, as people see it. Pure.
#pragma once

#include <optional>
#include <string_view>

namespace trainctl::job {

// kBad, kSuspect: of a fault of its device (device_fault.h). kDirty: its device is not free, or not
// known to be. kLeased: free for the jobs of its lease.
enum class WorkerState { kReady, kBusy, kLost, kBad, kSuspect, kDirty, kDrained, kLeased };

std::string_view Name(WorkerState state);  // "READY"
std::optional<WorkerState> ParseWorkerState(std::string_view name);

}  // namespace trainctl::job
