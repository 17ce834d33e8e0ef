// Waiting for room on a full disk. What a rank has trained is worth more than the time until
// somebody has removed something. Sleeps between two looks. One thread's.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/clock.h"
#include "common/base/result.h"
#include "worker/rank/process/commands.h"
#include "worker/rank/process/reporter.h"

namespace trainctl::train {

class RoomWait {
 public:
  // All outlive this.
  RoomWait(Reporter& reporter, const Commands& commands, const base::Clock& clock)
      : reporter_(reporter), commands_(commands), clock_(clock) {}

  // Writing `bytes` to the folder has failed for lack of room, and took nothing. True: it may fit
  // now. More became free, and that is enough; or half a minute is over, as quotas are not seen.
  // False: the job is to stop, or an hour is over since the first call. The first says so in a
  // notice. The phase stays kSaving, which is told again and again: the rank does not hang.
  bool Await(const base::Error& why, const std::string& folder, int64_t bytes);

 private:
  void Begin(const base::Error& why);

  Reporter& reporter_;
  const Commands& commands_;
  const base::Clock& clock_;
  base::SteadyMicros give_up_at_ = 0;  // 0: nothing was waited for yet
};

}  // namespace trainctl::train
