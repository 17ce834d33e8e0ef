// What is kept for jobs that wait: EASY backfill (Lifka 1995). The first job that can't be placed
// holds the classes of device that it could use. Its start is reserved: when enough of them are
// free, by the expected ends of the jobs that have them. A job behind may have free devices of such
// a class where that start does not move. It ends before, or takes what is left over then.
//
// A job whose constraints name workers holds those devices of a class only (reach.h); jobs behind
// it have the others. One that asks for links holds those of the host where it starts, if that is
// known. Of a kind of such jobs (queue.h) only the first holds some. A later job that holds the
// whole class may count on them too soon: then fewer pass it than could, never more.
//
// So a job that holds starts by its reserved start, if all jobs end when expected or before. Lost
// devices and jobs that come to stand before it in the queue may delay it. Where the start is not
// known, nobody passes. Pure; internal to this room.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/core/state.h"

namespace trainctl::core {

// When the worker's device is free for jobs of the class; nullopt: not known, or never. Of one that
// is leased now, as if the lease was over: its jobs are gone by then.
std::optional<base::SteadyMicros> FreeFrom(const State& state, const Worker& worker,
                                           placement::ClassId id, const Now& now);

struct Hold {
  Place place;                              // of the job that waits: none before it is kept out
  std::optional<base::SteadyMicros> start;  // reserved for it, not before now; nullopt: not known
  int64_t spare = 0;  // devices of the class, free now, that it does not need at its start
  std::optional<placement::DeviceSet> devices{};  // of the class; nullopt: all of it

  bool HasByItself(placement::DeviceId device) const;
};

// Of one look at the queue.
class Holds {
 public:
  Holds(const State& state, const Now& now)
      : state_(state), now_(now), held_(state.free.pools().size()) {}

  // The job can't be placed. Of the devices that it wants it holds those that nobody holds yet.
  // Where it may not be passed, as if its start was not known.
  void Add(const Job& job, bool may_be_passed = true);

  // What that job holds of the class; nullptr: nothing.
  const Hold* Find(placement::ClassId id, base::JobId job) const;
  // Whether this job waits for what is held: for the class, or for devices without which too few
  // of the class are left.
  bool Hinder(placement::ClassId id, const Job& job) const;
  // Free devices of the class that others hold, of those that the job reaches.
  int64_t KeptFrom(placement::ClassId id, const Job& job) const;
  // For how long at most a job like this may have held devices of a class, in microseconds. 0: not.
  int64_t Gap(placement::ClassId id, const Job& job) const;
  // For how long a job behind all that hold may have as many as it wants. So many are free. The
  // largest number: for any time. nullopt: not at all. `Bars` and leases may still keep them from
  // it.
  std::optional<int64_t> RoomFor(placement::ClassId id, const Job& job) const;
  // The longest that any job may have them.
  int64_t LongestGap() const;
  // Whether nothing is left to hold.
  bool AllAreWhole() const;
  // Whether some job behind may have free devices of the class.
  bool MayYield(placement::ClassId id) const;
  // Whether this job may have devices of the class, as many as it wants, as far as `Bars` allows.
  bool Yields(placement::ClassId id, const Job& job) const;
  // Whether some devices of the class are held by themselves.
  bool HasParts(placement::ClassId id) const;
  // Whether such a hold keeps the device from this job.
  bool Bars(placement::DeviceId device, const Job& job) const;
  // The job has taken these devices.
  void Take(const std::vector<placement::DeviceId>& devices, const Job& job);

 private:
  // When enough devices of the class are free, and under no lease while the job runs. `clear`: how
  // many are then. nullopt: not known.
  struct LeasedStart {
    base::SteadyMicros at = 0;
    int64_t clear = 0;
  };
  // `host`: where it is known that the job starts there, by its links; else empty.
  struct Start {
    base::SteadyMicros at = 0;
    placement::ClassId id = 0;
    std::string host;
  };
  const Hold* Whole(placement::ClassId id) const;  // of the whole class
  // Whether a job of its kind, which asks for links, was added before.
  bool HasSeenKindOf(const Job& job) const;
  std::optional<Start> FirstStart(const Job& job) const;
  static bool HasSpareFor(const Hold& hold, const Job& job);
  bool MayPass(const Hold& hold, placement::ClassId id, const Job& job) const;
  bool EndsInGap(const Hold& hold, placement::ClassId id, const Job& job) const;
  // The devices that the job would hold of the class where it names workers; else nullopt. Those of
  // the host only, where one is given.
  std::optional<placement::DeviceSet> PartFor(placement::ClassId id, const Job& job,
                                              const std::string& host) const;
  int64_t SpareOf(placement::ClassId id, const Job& job, base::SteadyMicros start) const;
  // Of devices that earlier jobs hold by themselves those that are free by then.
  int64_t HeldBy(placement::ClassId id, const Job& job, base::SteadyMicros at) const;
  std::optional<LeasedStart> AmongLeases(placement::ClassId id, const Job& job) const;
  std::optional<Start> StartOn(placement::ClassId id, const Job& job) const;
  std::optional<base::SteadyMicros> StartOnHosts(placement::ClassId id, const Job& job) const;
  // Of an exclusive job: when it may have the host.
  std::optional<base::SteadyMicros> WholeFrom(placement::ClassId id, const Job& job,
                                              const std::vector<Worker*>& host) const;

  const State& state_;
  const Now& now_;
  std::vector<std::vector<Hold>> held_;  // by class; one of the whole class is its last
  std::vector<const Job*> linked_;       // that were added and ask for links
};

}  // namespace trainctl::core
