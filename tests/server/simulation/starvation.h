// Nobody starves, whatever the site's policy. A job stands first in a line if nobody before it in
// the queue's order wants what it wants. That is devices, or their owner's quota.
//
//   1. Who is first in a line and could start does not wait: after each step.
//   2. Where there is fair share, a user starves who has had no device for a half-life. The first
//      job of each who starves goes before all others of its priority.
//   3. Once faults have stopped, who is first in a line starts within kMostSeconds, however many
//      jobs come behind it.
//
// So a job waits for no more than kMostSeconds for each job that goes before it. The third follows
// from EASY backfill (server/core/holds.h): what passes a job ends by its reserved start. That is
// no later than the longest time limit here. Each attempt ends within that and the time to find a
// rank that hangs.
#pragma once

#include <map>

#include "tests/server/ledger.h"
#include "tests/server/simulation/site_facts.h"

namespace trainctl::core {

// The first.
void NobodyInFrontCouldStart(const State& state);

// The second, by the attempts that are stored. As of when shares were summed up last.
void WhoStarvesGoesFirst(const State& state, const Ledger& ledger);

// The third.
class WaitsInFront {
 public:
  static constexpr int64_t kMostSeconds = 240;  // the longest of 100,000 seeds: 194

  // To be called each second without faults.
  void Note(const State& state, const Now& now);
  // That a job has waited in front.
  int64_t longest_seconds() const { return longest_seconds_; }

 private:
  std::map<base::JobId, base::WallMicros> since_;
  int64_t longest_seconds_ = 0;
};

}  // namespace trainctl::core
