// The core against a cluster in which everything goes wrong, under many seeds. A failure names its
// seed; TRAINCTL_SEED=n replays that one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

#include "server/store/sqlite_store.h"
#include "tests/server/describe.h"
#include "tests/server/invariants.h"
#include "tests/server/temporary_folder.h"

namespace trainctl::core {
namespace {

constexpr uint64_t kSeeds = 80;
constexpr int kStepsPerSeed = 600;

using Uses = std::vector<std::tuple<std::string, int64_t, base::WallMicros, base::WallMicros>>;

Uses Sorted(const std::vector<UseRow>& rows) {
  Uses uses;
  for (const UseRow& row : rows) uses.emplace_back(row.user, row.devices, row.from, row.to);
  std::ranges::sort(uses);
  return uses;
}

struct Seen {
  std::map<job::Outcome, int> outcomes = {};
  int64_t preempted = 0;  // attempts, for another job
};

void Simulate(uint64_t seed, Seen* seen) {
  SCOPED_TRACE("TRAINCTL_SEED=" + std::to_string(seed));
  SimCluster cluster(seed);
  Invariants invariants;
  for (int step = 0; step < kStepsPerSeed && !testing::Test::HasFailure(); ++step) {
    cluster.Disturb();
    invariants.Check(cluster);
  }
  if (testing::Test::HasFailure()) return;
  EXPECT_TRUE(cluster.Settle()) << "jobs that do not end:\n"
                                << Describe(cluster.state(), cluster.now());
  if (testing::Test::HasFailure()) return;
  invariants.CheckEnd(cluster);
  for (const auto& [id, job] : cluster.ledger().jobs()) ++seen->outcomes[job.status.end->outcome];
  for (const auto& [key, attempt] : cluster.ledger().attempts())
    seen->outcomes[job::Outcome::kPreempted] += attempt.end->outcome == job::Outcome::kPreempted;
  seen->preempted += cluster.preempted();
}

TEST(Simulation, EveryInvariantHoldsAndEveryJobEndsUnderAnyFaults) {
  Seen seen;  // PREEMPTED are attempts: such a job goes on
  if (const char* seed = std::getenv("TRAINCTL_SEED"))
    return Simulate(std::strtoull(seed, nullptr, 10), &seen);
  for (uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) Simulate(seed, &seen);
  using enum job::Outcome;
  for (const job::Outcome outcome :
       {kSucceeded, kFailed, kOomGpu, kHang, kNcclError, kNodeLost, kTimeout, kCancelled,
        kLaunchFailed, kLeaseEnded, kPreempted}) {
    EXPECT_GE(seen.outcomes[outcome], 5)
        << job::Name(outcome) << ": the faults do not reach what they are there for";
  }
  EXPECT_GE(seen.preempted, 20) << "jobs hardly ever take the devices of others";
}

TEST(Simulation, TheSameSeedGivesTheSameRun) {
  const auto run = [] {
    SimCluster cluster(7);
    for (int step = 0; step < 300; ++step) cluster.Disturb();
    return Describe(cluster.ledger().LoadState());
  };
  EXPECT_EQ(run(), run());
}

// The ledger of these tests and the real store are told the same, and tell the same.
TEST(Simulation, TheSqliteStoreRestoresWhatTheLedgerRestores) {
  store::TemporaryFolder folder;
  auto store = store::OpenSqliteStore(folder.path()).value();
  auto reader = store::OpenSqliteReader(folder.path()).value();
  store::Batch batch;
  SimCluster cluster(11, [&](const std::vector<Persist>& rows) {
    batch.rows.insert(batch.rows.end(), rows.begin(), rows.end());
  });
  for (int step = 1; step <= 2000; ++step) {
    cluster.Disturb();
    if (step % 100 != 0) continue;
    const base::Status status = store->Apply(batch);
    ASSERT_TRUE(status.ok()) << status.error().message;
    batch = {};
    ASSERT_EQ(Describe(store->LoadState().value()), Describe(cluster.ledger().LoadState())) << step;
    ASSERT_EQ(Sorted(reader->UseSince(0).value()), Sorted(cluster.ledger().LoadState().use))
        << step;
  }
}

}  // namespace
}  // namespace trainctl::core
