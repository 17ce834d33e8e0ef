// The core against a cluster in which everything goes wrong, under many seeds. A failure names its
// seed, and the fewest steps of it that still fail. TRAINCTL_SEED=n replays that one, with
// TRAINCTL_SEEDS=m so many from there on: tests/server/simulate runs any number on all cores.
// TRAINCTL_FAULTS=first leaves out what came later to the faults (Faults::kFirst).
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/base/check.h"
#include "server/store/sqlite_store.h"
#include "tests/sanitized.h"
#include "tests/server/describe.h"
#include "tests/server/invariants.h"
#include "tests/server/temporary_folder.h"

namespace trainctl::core {
namespace {

constexpr uint64_t kSeeds = tests::kSanitized ? 30 : 80;
constexpr int64_t kStepsPerSeed = 600;

using Uses = std::vector<std::tuple<std::string, int64_t, base::WallMicros, base::WallMicros>>;

Uses Sorted(const std::vector<UseRow>& rows) {
  Uses uses;
  for (const UseRow& row : rows) uses.emplace_back(row.user, row.devices, row.from, row.to);
  std::ranges::sort(uses);
  return uses;
}

// What happened, in memory that a process of its own shares.
struct Seen {
  uint64_t seed = 0;  // that it is at
  uint64_t held = 0;  // seeds that were simulated to their end, while no failure is looked into
  std::array<int, 64> outcomes{};
  int64_t preempted = 0;  // attempts, for another job
  int64_t losses = 0;     // of what the disk said it keeps
  int64_t late = 0;       // events of streams that were gone
  int& operator[](job::Outcome outcome) { return outcomes[static_cast<size_t>(outcome)]; }
};

Seen* NewSeen() {
  void* memory =
      mmap(nullptr, sizeof(Seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  return new (memory) Seen;
}

// Of the seed's steps these.
using Steps = std::vector<int64_t>;

Steps AllSteps() {
  Steps steps(kStepsPerSeed);
  std::iota(steps.begin(), steps.end(), 0);
  return steps;
}

void Simulate(uint64_t seed, const Steps& steps, Faults faults, Seen* seen) {
  SimCluster cluster(seed, {}, faults);
  Invariants invariants;
  for (const int64_t step : steps) {
    cluster.Disturb(step);
    invariants.Check(cluster);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_TRUE(cluster.Settle()) << "jobs that do not end:\n"
                                << Describe(cluster.state(), cluster.now());
  if (testing::Test::HasFailure()) return;
  invariants.CheckEnd(cluster);
  for (const auto& [id, job] : cluster.ledger().jobs()) ++(*seen)[job.status.end->outcome];
  for (const auto& [key, attempt] : cluster.ledger().attempts())
    (*seen)[job::Outcome::kPreempted] += attempt.end->outcome == job::Outcome::kPreempted;
  seen->preempted += cluster.preempted();
  seen->losses += cluster.losses();
  seen->late += cluster.late();
}

// Whatever is thrown fails the seed, as an invariant that does not hold.
void SimulateAndCatch(uint64_t seed, const Steps& steps, Faults faults, Seen* seen) {
  seen->seed = seed;
  SCOPED_TRACE("TRAINCTL_SEED=" + std::to_string(seed));
  try {
    Simulate(seed, steps, faults, seen);
  } catch (const std::exception& error) {
    ADD_FAILURE() << "it throws: " << error.what();
  }
}

// In a process of its own, which may abort. Stops at the first seed that fails.
bool Fails(uint64_t first, uint64_t last, const Steps& steps, Seen* seen, bool is_quiet = false,
           Faults faults = Faults::kAll) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (is_quiet && (std::freopen("/dev/null", "w", stdout) == nullptr ||
                     std::freopen("/dev/null", "w", stderr) == nullptr))
      _exit(2);
    for (uint64_t seed = first; seed <= last && !testing::Test::HasFailure(); ++seed) {
      SimulateAndCatch(seed, steps, faults, seen);
      seen->held += !testing::Test::HasFailure();
    }
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  return status != 0;
}

// Leaves out steps, half of them at once, then fewer, as long as it fails without them.
Steps Shrink(uint64_t seed, Faults faults, Seen* seen) {
  Steps steps = AllSteps();
  for (size_t size = steps.size() / 2; size > 0; size /= 2) {
    for (size_t from = 0; from < steps.size();) {
      Steps fewer = steps;
      const auto begin = fewer.begin() + static_cast<std::ptrdiff_t>(from);
      fewer.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(size, steps.size() - from)));
      if (Fails(seed, seed, fewer, seen, true, faults)) {
        steps = std::move(fewer);
      } else {
        from += size;
      }
    }
  }
  return steps;
}

// Tells how the shrunk seed fails.
std::string TellFailure(uint64_t seed, Faults faults, Seen* seen) {
  const Steps steps = Shrink(seed, faults, seen);
  std::string text = "TRAINCTL_SEED=" + std::to_string(seed) + " fails; of its " +
                     std::to_string(kStepsPerSeed) + " steps these alone suffice, see above:";
  for (const int64_t step : steps) text += " " + std::to_string(step);
  Fails(seed, seed, steps, seen, false, faults);
  return text;
}

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

Faults FaultsOfEnvironment() {
  const char* text = std::getenv("TRAINCTL_FAULTS");
  CHECK(text == nullptr || std::string_view(text) == "first" || std::string_view(text) == "all");
  return text != nullptr && std::string_view(text) == "first" ? Faults::kFirst : Faults::kAll;
}

TEST(Simulation, EveryInvariantHoldsAndEveryJobEndsUnderAnyFaults) {
  constexpr int kMostFailures = 3;
  const Faults faults = FaultsOfEnvironment();
  const uint64_t asked = FromEnvironment("TRAINCTL_SEED", 0);
  const uint64_t count = FromEnvironment("TRAINCTL_SEEDS", asked == 0 ? kSeeds : 1);
  const uint64_t last = std::max<uint64_t>(asked, 1) + count - 1;
  Seen& seen = *NewSeen();  // PREEMPTED are attempts: such a job goes on
  std::vector<std::string> failures;
  for (uint64_t first = last - count + 1; first <= last; first = seen.seed + 1) {
    if (!Fails(first, last, AllSteps(), &seen, false, faults)) break;
    const uint64_t failed = seen.seed, held = seen.held;
    failures.push_back(TellFailure(failed, faults, &seen));
    seen.held = held;
    if (failures.size() == kMostFailures) break;
  }
  std::printf("%llu seeds held\n", static_cast<unsigned long long>(seen.held));
  for (const std::string& failure : failures) ADD_FAILURE() << failure;
  if (asked != 0 || tests::kSanitized || HasFailure()) return;  // of fewer seeds
  using enum job::Outcome;
  for (const job::Outcome outcome :
       {kSucceeded, kFailed, kOomGpu, kHang, kNcclError, kNodeLost, kTimeout, kCancelled,
        kLaunchFailed, kLeaseEnded, kPreempted}) {
    EXPECT_GE(seen[outcome], 5) << job::Name(outcome)
                                << ": the faults do not reach what they are there for";
  }
  EXPECT_GE(seen.preempted, 20) << "jobs hardly ever take the devices of others";
  EXPECT_GE(seen.losses, 3) << "the disk hardly ever loses what it said it keeps";
  EXPECT_GE(seen.late, 20) << "hardly anything arrives of a stream that is gone";
}

// Each found a fault that the seeds above do not reach: the first while nothing was late or lost.
TEST(Simulation, SeedsThatFoundFaultsHold) {
  constexpr std::array<uint64_t, 12> kFound = {
      20977,  // a report of a rank that has ended was noted in memory only
      20985,  // a restarted coordinator let another member of a bounded group go first
      3687,   // who could start now that the clock was set back was not looked at
      55010,  // the same
      43014,  // nor who could once a job before it had to wait for a lease's end
      51744,  // nor who could once a job before it had to wait for a quota
      83438,  // the same
      81968,  // the same
      96049,  // a restart let another of a bounded group go than one that had not begun
      98681,  // the same
      28505,  // nor who could once a job was late that is being stopped
      6468,   // a job gave way to one that started on other devices at once
  };
  constexpr std::array<uint64_t, 19> kFoundUnderAll = {
      17737,  // an attempt that the disk lost was given its number again, beside its ranks
      70691,  // the same
      549,    // who starves was not looked for again after an end that was told late
      853,    // the same
      71464,  // a job waited for a rank of an attempt of its own that the disk had lost
      91954,  // a job waited for a rank of one that the disk had lost, whose number it was given
      19067,  // a pass had placed others before another made a job give way
      29666,  // the same
      53334,  // the same
      8826,   // the disk had lost a report that it had acknowledged, and nobody said it again
      17371,  // the same
      20215,  // the same
      42243,  // the same
      53878,  // the same
      64478,  // the same
      69503,  // the same
      41753,  // an undrain was lost with a kill
      54726,  // the same
      58864,  // the same
  };
  Seen& seen = *NewSeen();
  for (const uint64_t seed : kFound) {
    EXPECT_FALSE(Fails(seed, seed, AllSteps(), &seen, false, Faults::kFirst))
        << "TRAINCTL_SEED=" << seed;
  }
  for (const uint64_t seed : kFoundUnderAll)
    EXPECT_FALSE(Fails(seed, seed, AllSteps(), &seen)) << "TRAINCTL_SEED=" << seed;
}

TEST(Simulation, TheSameSeedGivesTheSameRun) {
  const auto run = [] {
    SimCluster cluster(7);
    for (int step = 0; step < 300; ++step) cluster.Disturb(step);
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
  const auto committed = [&](const std::vector<Persist>& rows) {
    batch.rows.insert(batch.rows.end(), rows.begin(), rows.end());
  };
  SimCluster cluster(11, committed, Faults::kFirst);
  for (int step = 1; step <= 2000; ++step) {
    cluster.Disturb(step);
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
