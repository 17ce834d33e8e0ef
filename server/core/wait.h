// What keeps a QUEUED job from starting, device by device: for those who ask why. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/core/state.h"

namespace trainctl::core {

// A device that the job could use, and that can't be had now.
struct Hindrance {
  const Worker* worker = nullptr;  // into the state
  job::WorkerState state = job::WorkerState::kReady;
  const Job* holder = nullptr;  // that has the device, by a rank or with its host; null: nobody
  base::WallMicros since = 0;   // it is held, drained, or its worker away; 0: not known
  std::optional<base::SteadyMicros> until;  // as the queue expects it; nullopt: not known
  std::string reason;                       // core::WorkerReason
  const DrainRow* drain = nullptr;          // into the state; null: it is not drained
};

struct Wait {
  const Job* behind = nullptr;          // goes before this one, for what it wants; null: nobody
  int64_t minutes_that_pass = 0;        // a time limit of at most so many would do; 0: none would
  int64_t free = 0;                     // of the devices that it could use
  std::vector<Hindrance> hindrances{};  // the others, the soonest first
  // Why there is no PredictedStart: "behind j5, exclusive"; else empty: ends are not known.
  std::optional<std::string> why_not_known{};
};

// nullopt: it is not QUEUED, or waits for something else than devices.
std::optional<Wait> WaitOf(const State& state, const Job& job, const Now& now);

}  // namespace trainctl::core
