#include "tests/server/simulation/what_workers_know.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "server/core/leases.h"
#include "tests/server/describe.h"

namespace trainctl::core {
namespace {

constexpr int64_t kSecond = 1'000'000;

// The worker's rank is of an attempt that goes on; the disk may have lost another of that number.
bool MayRunOn(const Job& job, const job::RankKey& key, const std::string& worker) {
  if (!job.attempt || job.attempt->row.stop || job.attempt->row.attempt != key.attempt)
    return false;
  const RankRow& row = job.attempt->ranks.at(static_cast<size_t>(key.rank)).row;
  return row.proof == Proof::kNone && row.worker == worker;
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

}  // namespace

void WorkersHaveTheirRanks(const SimCluster& cluster) {
  for (const SimWorker& worker : cluster.workers()) {
    if (!worker.has_heard_all() || !worker.stream()->to_coordinator.empty()) continue;
    const auto known = cluster.state().workers.find(worker.name());
    if (known == cluster.state().workers.end() || !known->second.holder) continue;
    const job::RankKey& key = *known->second.holder;
    if (!MayRunOn(cluster.state().jobs.at(key.job), key, worker.name())) continue;
    ASSERT_TRUE(worker.ranks().contains(key))
        << worker.name() << " is to run " << Short(key) << ", and was not told";
  }
}

void WorkersKnowTheirDeadlines(const SimCluster& cluster) {
  constexpr int64_t kSlack = 4 * kSecond;  // half of it the core's, and one a worker's second
  for (const SimWorker& worker : cluster.workers()) {
    const SimRank* rank = worker.Running();
    if (rank == nullptr || rank->is_past || !worker.has_heard_all()) continue;
    const Job* job = FindJob(cluster.state(), rank->key.job);
    if (job == nullptr || !MayRunOn(*job, rank->key, worker.name())) continue;
    const std::optional<int64_t> left = MayRunFor(cluster.state(), *job, cluster.now());
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
