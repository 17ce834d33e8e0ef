// What is kept for jobs that wait: EASY backfill (Lifka 1995). The first job that can't be placed
// holds the classes of device that it could use. Its start is reserved: when enough of them are
// free, by the expected ends of the jobs that have them. A job behind may have free devices of such
// a class where that start does not move. It ends before, or takes what is left over then.
//
// So a job that holds starts by its reserved start, if all jobs end when expected or before. Lost
// devices and jobs that come to stand before it in the queue may delay it. Where the start is not
// known, nobody passes. Pure; internal to this room.
#pragma once

#include <optional>
#include <vector>

#include "server/core/state.h"

namespace trainctl::core {

struct Hold {
  base::JobId job;                          // that waits
  std::optional<base::SteadyMicros> start;  // reserved for it, not before now; nullopt: not known
  int64_t spare = 0;  // devices of the class, free now, that it does not need at its start
};

// Of one look at the queue.
class Holds {
 public:
  Holds(const State& state, const Now& now)
      : state_(state), now_(now), held_(state.free.pools().size()) {}

  // The job can't be placed. Of the classes that it wants it holds those that nobody holds yet.
  void Add(const Job& job);

  // nullptr: nobody holds the class.
  const Hold* Find(placement::ClassId id) const { return held_[id] ? &*held_[id] : nullptr; }
  // For how long a job behind may have devices of a class that is held, in microseconds. 0: not.
  int64_t Gap(placement::ClassId id) const;
  // Whether some job behind may have free devices of the class.
  bool MayYield(placement::ClassId id) const;
  // Whether this job may, as many as it wants.
  bool Yields(placement::ClassId id, const Job& job) const;
  // Whether it may have hosts, whole, with devices of the class.
  bool YieldsHosts(placement::ClassId id, const Job& job) const;
  // The job has taken its devices of the class.
  void Take(placement::ClassId id, const Job& job);

 private:
  // When enough devices of the class are free, and under no lease while the job runs. `clear`: how
  // many are then. nullopt: not known.
  struct LeasedStart {
    base::SteadyMicros at = 0;
    int64_t clear = 0;
  };
  std::optional<LeasedStart> AmongLeases(placement::ClassId id, const Job& job) const;
  bool EndsInGap(placement::ClassId id, const Job& job) const;
  std::optional<base::SteadyMicros> StartOn(placement::ClassId id, const Job& job) const;
  std::optional<base::SteadyMicros> StartOnHosts(placement::ClassId id, const Job& job) const;

  const State& state_;
  const Now& now_;
  std::vector<std::optional<Hold>> held_;  // by class
};

}  // namespace trainctl::core
