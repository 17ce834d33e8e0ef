// Quotas: how many devices a user's jobs may have at once (site_policy.h). Internal to this room.
//
// A quota goes to its owner's jobs in the queue's order. What the first of them that waits needs is
// kept for it: those behind it get what is left over. So it starts as soon as its devices are free,
// and its owner's jobs do not delay it. Jobs of others go past whoever waits for a quota. A job
// keeps nothing where too few devices of any class that it could use are free or in use: the others
// are LOST, DIRTY or drained. One that never fits the quota keeps nothing either. Jobs under a
// lease count for nothing: their devices are their owner's already. An exclusive job counts as many
// devices as it has ranks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "server/core/state.h"

namespace trainctl::core {

// The job's owner, where a quota bounds it; else empty. Goes into its demand.
std::string QuotaOwner(const State& state, const Job& job);

// Whether the job alone wants more devices than its owner may have. It can't start, then, until the
// site's policy grants more.
bool ExceedsQuota(const SitePolicy& policy, const JobRow& job);
std::string ExceedsReason(const State& state, const Job& job);

// The job begins to hold devices, or gives them back: State::live, State::preemptible
// and State::held.
void GoLive(State& state, Job& job);
void EndLive(State& state, const Job& job);

// Why the jobs can't be taken, by what the site's policy lets their owner ask for; empty: they can.
std::string PolicyProblem(const SitePolicy& policy, const std::string& user,
                          const job::JobSpec& spec);

// Of one look at the queue, job by job in its order.
class Quotas {
 public:
  explicit Quotas(const State& state) : state_(state), counted_(state.workers.begin()) {}

  // Whether jobs of the lane may have devices now.
  bool Yields(const Demand& lane) const;
  // The job of that lane waits, for its owner's other jobs or for devices.
  void Wait(const Demand& lane, base::JobId job);
  // The first job of that user that waits; nullptr: none keeps anything.
  const Job* FirstOf(const std::string& user) const;

 private:
  struct User {
    int64_t quota = 0;
    const Job* first = nullptr;          // that waits
    std::vector<base::JobId> waiting{};  // in order; which of them is the first is not known yet
  };

  User& Find(const std::string& name) const;
  const Job* FirstOf(User& user) const;
  // Whether it starts once jobs have ended.
  bool CanBeFree(const Job& job) const;
  bool AreInOrder(placement::ClassId id, int64_t devices) const;

  const State& state_;
  mutable std::map<std::string, User> users_;
  // Workers are counted as far as was asked.
  mutable std::map<std::string, Worker>::const_iterator counted_;
  mutable std::vector<int64_t> in_order_;  // by class, of those
};

// Why a job of State::queue that the quotas do not yield to waits.
std::string QuotaReason(const State& state, const Job& job, const Quotas& quotas);

}  // namespace trainctl::core
