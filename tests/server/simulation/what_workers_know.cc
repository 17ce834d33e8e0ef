#include "tests/server/simulation/what_workers_know.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/core/leases.h"
#include "tests/server/describe.h"
#include "tests/server/simulation/site_facts.h"

namespace trainctl::core {
namespace {

constexpr int64_t kSecond = 1'000'000;

// The worker's rank is of an attempt that goes on; the disk may have lost another of that number.
bool MayRunOn(const State& state, const job::RankKey& key, const std::string& worker) {
  const RankRow* row = FindLiveRow(state, key);
  return row != nullptr && row->proof == Proof::kNone && row->worker == worker &&
         !state.jobs.at(key.job).attempt->row.stop;
}

// Neither has to say anything to the other.
bool IsQuiet(const SimCluster& cluster, const SimWorker& worker) {
  return cluster.is_idle() && worker.has_heard_all() && worker.has_said_all();
}

// Another's lease that wants a device of the job's, now or later.
bool IsInTheWayOf(const LeaseRow& lease, const Job& job, const LeaseRow* own, const Now& now) {
  const bool is_over = lease.end <= now.wall || lease.end <= lease.start;
  const bool is_in_order = own != nullptr && (own->id == lease.id || own->end <= lease.start);
  return !is_over && !is_in_order && std::ranges::any_of(job.attempt->ranks, [&](const Rank& rank) {
    return std::ranges::count(lease.workers, rank.row.worker) > 0;
  });
}

// By the rows: in microseconds from now; nullopt: it may run on. Before a lease's end or start it
// is as early as server/core/last_moment.cc says. Behind a time limit it is 5 s late.
std::optional<int64_t> MayRunFor(const State& state, const Job& job, const Now& now) {
  std::optional<int64_t> left;
  const auto consider = [&](int64_t other) { left = std::min(left.value_or(other), other); };
  const int64_t early = state.options.lease_grace_us * 5 / 6;
  const Lease* lease = FindLease(state, job.lease);
  const LeaseRow* own = lease == nullptr ? nullptr : &lease->row;
  if (own != nullptr) consider(own->end - early - now.wall);
  for (const auto& [id, other] : state.leases) {
    if (IsInTheWayOf(other.row, job, own, now)) consider(other.row.start - early - now.wall);
  }
  if (const auto& limit = job.row.spec.resources.time_limit_seconds)
    consider(job.attempt->placed_steady + (*limit + 5) * kSecond - now.steady);
  return left;
}

// Ranks that it runs, and that no attempt has there.
void StraysAreKnown(const State& state, const SimWorker& worker) {
  const auto known = state.workers.find(worker.name());
  if (known == state.workers.end()) return;
  std::set<job::RankKey> strays;
  for (const auto& [key, rank] : worker.ranks()) {
    const RankRow* row = FindLiveRow(state, key);
    if (row == nullptr || row->worker != worker.name()) strays.insert(key);
  }
  const std::vector<job::RankKey>& told = known->second.strays;
  ASSERT_EQ(std::set(told.begin(), told.end()), strays) << worker.name();
}

}  // namespace

void WorkersHaveTheirRanks(const SimCluster& cluster) {
  for (const SimWorker& worker : cluster.workers()) {
    if (!worker.has_heard_all() || !worker.has_said_all()) continue;
    const auto known = cluster.state().workers.find(worker.name());
    if (known == cluster.state().workers.end() || !known->second.holder) continue;
    const job::RankKey& key = *known->second.holder;
    if (!MayRunOn(cluster.state(), key, worker.name())) continue;
    ASSERT_TRUE(worker.ranks().contains(key))
        << worker.name() << " is to run " << Short(key) << ", and was not told";
  }
}

// What the disk has lost may have been stopped before, and goes on now.
void WorkersHaveNoOthers(const SimCluster& cluster) {
  for (const SimWorker& worker : cluster.workers()) {
    if (!IsQuiet(cluster, worker)) continue;
    StraysAreKnown(cluster.state(), worker);
    for (const auto& [key, rank] : worker.ranks()) {
      ASSERT_TRUE(rank.running) << worker.name() << " keeps " << Short(key) << ", which has ended";
      if (rank.is_past) continue;
      const bool goes_on = MayRunOn(cluster.state(), key, worker.name());
      const bool is_stopped = rank.kill_at_s != 0;
      ASSERT_TRUE(goes_on || is_stopped)
          << Short(key) << " runs on " << worker.name() << ", and nobody stops it";
      ASSERT_FALSE(goes_on && is_stopped && cluster.losses() == 0)
          << Short(key) << " is stopped on " << worker.name() << ", and its attempt goes on";
    }
  }
}

void FreeDevicesAreFree(const SimCluster& cluster) {
  for (const SimWorker& worker : cluster.workers()) {
    const auto known = cluster.state().workers.find(worker.name());
    if (known == cluster.state().workers.end() || !IsQuiet(cluster, worker)) continue;
    if (!cluster.state().free.entry(known->second.device).free) continue;
    ASSERT_EQ(worker.Running(), nullptr) << worker.name() << " is taken as free, and a rank runs";
    ASSERT_FALSE(worker.is_dirty()) << worker.name() << " is taken as free, and is not";
  }
}

void WorkersKnowTheirDeadlines(const SimCluster& cluster) {
  constexpr int64_t kSlack = 4 * kSecond;  // half of it the core's, and one a worker's second
  for (const SimWorker& worker : cluster.workers()) {
    const SimRank* rank = worker.Running();
    if (rank == nullptr || rank->is_past || !worker.has_heard_all()) continue;
    if (!MayRunOn(cluster.state(), rank->key, worker.name())) continue;
    const Job& job = cluster.state().jobs.at(rank->key.job);
    const std::optional<int64_t> left = MayRunFor(cluster.state(), job, cluster.now());
    ASSERT_EQ(rank->deadline.has_value(), left.has_value())
        << worker.name() << " knows of " << (left ? "no" : "a") << " deadline of "
        << Short(rank->key);
    if (!left) continue;
    const int64_t told = rank->deadline->in_us - worker.own_time_us();
    ASSERT_LE(std::abs(std::max<int64_t>(0, told) - std::max<int64_t>(0, *left)), kSlack)
        << worker.name() << " ends " << Short(rank->key) << " in " << told / kSecond << " s, not "
        << *left / kSecond << " s";
  }
}

}  // namespace trainctl::core
