// Quotas: how many devices a user's jobs may have at once (site_policy.h). Internal to this room.
//
// A quota goes to its owner's jobs in the queue's order. What the first of them that waits needs is
// kept for it: EASY backfill, as of devices (holds.h). Where too little is left for it now, its
// time is reserved: when enough is left, by the expected ends of its owner's jobs. Jobs behind it
// may have what it does not need then, and what they give back before. So its owner's jobs do not
// delay it, if all end when expected or before. Where that time is not known, and where it waits
// for devices only, they get what is left over now. Jobs of others go past whoever waits for a
// quota. A job keeps nothing where too few devices of any class that it could use are free or in
// use: the others are LOST, DIRTY or drained. One that never fits the quota keeps nothing either.
// What a job holds is counted as held.h says: of an exclusive one all devices of its hosts. One
// that waits is counted with the fewest that it could get. The hosts that are free may have more,
// for which its quota has no room now. Then it holds what it could use, as one that waits for
// devices does. A gang that waits for a host which is away counts what it still has.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/core/state.h"

namespace trainctl::core {

// The job's owner, where a quota bounds it; else empty. Goes into its demand.
std::string QuotaOwner(const State& state, const Job& job);

// Whether the job alone wants more devices than its owner may have. It can't start, then, until the
// site's policy grants more, or another site has smaller hosts for an exclusive one.
bool ExceedsQuota(const State& state, const Job& job);
std::string ExceedsReason(const State& state, const Job& job);
// The same, where only its ranks count: that never changes while a coordinator runs.
bool HasTooManyRanks(const SitePolicy& policy, const JobRow& job);

// The job begins to hold devices, or gives them back: State::live, State::preemptible
// and State::held.
void GoLive(State& state, Job& job);
void EndLive(State& state, const Job& job);
// It gives some of them back before its end.
void GiveBack(State& state, Job& job, int64_t devices);
// When the attempt of the live job, or of one that is about to be, is expected to end.
void ExpectEnd(State& state, Job& job, std::optional<base::SteadyMicros> at);

// Jobs of the user that wait, and how many may at most.
int64_t WaitingJobsOf(const State& state, const std::string& user);
int64_t MostWaitingJobsOf(const State& state, const std::string& user);

// Devices that the user's jobs have now, as quotas count them.
int64_t HeldBy(const State& state, const std::string& user);

// Of one look at the queue. Of a user's lanes the first jobs that were not placed wait: whoever
// looks goes through them in the queue's order.
class Quotas {
 public:
  Quotas(const State& state, const Now& now)
      : state_(state),
        now_(now),
        users_(state.queue.users()),
        can_be_free_(state.queue.kind_numbers()),
        counted_(state.workers.begin()) {}

  // False: its owner's quota has no room for so long a run, now or later in this look. As far as is
  // known of the owner yet.
  bool MayYield(const Queue::Lane& lane, const Place& place, Queue::Length length) const;
  // For how long its owner's quota lets a job of the lane have devices now, in microseconds: at
  // this place, or behind all lanes' first jobs. kAnyTime: for any. nullopt: not at all.
  std::optional<int64_t> RoomFor(const Queue::Lane& lane, const Place& place) const;
  std::optional<int64_t> RoomForLast(const Queue::Lane& lane) const;
  // Of a job of State::queue, at its place.
  std::optional<int64_t> RoomFor(const Job& job) const;
  bool Yields(const Job& job) const;
  // The same for a job that would hold so many devices. `place`: null: behind all.
  std::optional<int64_t> RoomWith(const Job& job, int64_t held, const Place* place) const;
  // How many it may hold for any time, at its place.
  int64_t MostFor(const Job& job) const;
  // The longest time, but any, that RoomFor says where it was asked of that user before.
  int64_t LongestGap() const;
  // The first job of its owner that waits before it; nullptr: none keeps anything from it.
  const Job* FirstBefore(const Job& job) const;
  // When enough of the quota is left for that one; nullopt: now, or not known.
  std::optional<base::SteadyMicros> StartBefore(const Job& job) const;
  // When enough of it is left for the job itself, from which nobody keeps any; nullopt: not known.
  std::optional<base::SteadyMicros> StartOf(const Job& job) const;
  // The job has been placed, and is live.
  void Take(const Job& job);

 private:
  // What is kept for the first job that waits.
  struct Kept {
    base::JobId job;
    int64_t devices = 0;  // that it wants
    // When enough is left; nullopt: now, or not known.
    std::optional<base::SteadyMicros> start;
    int64_t spare = 0;  // of the quota, that it does not need then
  };
  struct User {
    bool is_known = false;
    int64_t quota = 0;
    int64_t left = 0;                   // of it
    std::optional<Kept> first;          //
    std::optional<Place> looked_until;  // for the first, among the heads of the user's lanes
  };

  // Devices that the lane's first job would hold at least.
  int64_t WantedBy(const Queue::Lane& lane) const;
  User& Find(const Queue::User& user) const;
  // `place`: null: behind all.
  std::optional<int64_t> RoomFor(const Queue::User& user, int64_t devices,
                                 const Place* place) const;
  const Kept* FirstBefore(const Queue::User& user, const Place* place) const;
  template <class IsBefore>
  void LookForFirst(const Queue::User& user, const IsBefore& is_before) const;
  Kept KeepFor(const Queue::User& user, base::JobId job, int64_t devices) const;
  // Whether jobs of the kind start once others have ended.
  bool CanBeFree(const Queue::Kind& kind) const;
  bool AreInOrder(placement::ClassId id, int64_t devices) const;

  const State& state_;
  const Now& now_;
  mutable std::vector<User> users_;                       // by Queue::User::number
  mutable std::vector<std::optional<bool>> can_be_free_;  // by Queue::Kind::number
  // Workers are counted as far as was asked.
  mutable std::map<std::string, Worker>::const_iterator counted_;
  mutable std::vector<int64_t> in_order_;  // by class, of those
};

// Why a job of State::queue that the quotas do not yield to waits. `too_many`: where it is only for
// hosts that are free and have so many devices; else 0.
std::string QuotaReason(const State& state, const Job& job, const Quotas& quotas, const Now& now,
                        int64_t too_many);

}  // namespace trainctl::core
