// Why jobs wait and when they are expected to start, as people read it. Each text is made once for
// all who look. Of a long queue they are dear: each job is held against those ahead of it. Not
// thread-safe.
#pragma once

#include <string>
#include <unordered_map>

#include "server/core/state.h"

namespace trainctl::coordinator {

struct WaitText {
  std::string reason;                    // core::Reason
  base::WallMicros predicted_start = 0;  // 0: not known
};

class WaitTexts {
 public:
  // Most texts tell of minutes. Those of inspections tell of seconds, and lag so much.
  static constexpr base::SteadyMicros kMaxAge = 5'000'000;

  // Of a job that is QUEUED. Valid until the next call.
  const WaitText& Of(const core::State& state, const core::Job& job, const core::Now& now);
  // To be called when the state has changed.
  void Forget() { texts_.clear(); }

 private:
  std::unordered_map<int64_t, WaitText> texts_;  // by the job's number
  base::SteadyMicros made_ = 0;                  // the oldest of them
};

}  // namespace trainctl::coordinator
