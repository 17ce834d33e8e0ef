// The coordinator in a site in which everything goes wrong, under many seeds. A failure names its
// seed, and the fewest steps of it that still fail. TRAINCTL_SEED=n replays that one, with
// TRAINCTL_SEEDS=m so many from there on: tests/server/simulate runs any number on all cores.
// TRAINCTL_STEPS="9 13 …" replays these steps alone, and prints what the core does.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <new>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/base/check.h"
#include "server/store/sqlite_store.h"
#include "tests/sanitized.h"
#include "tests/server/describe.h"
#include "tests/server/simulation/invariants.h"
#include "tests/server/simulation/starvation.h"
#include "tests/server/temporary_folder.h"

namespace trainctl::core {
namespace {

constexpr uint64_t kSeeds = tests::kSanitized ? 30 : 160;
constexpr int64_t kStepsPerSeed = 600, kStepsPerLargeSeed = 160;
constexpr uint64_t kSeedsPerLarge = 79, kSeedsPerPressed = 27;  // odd: of sites of all policies
constexpr int kSecondsOfPressure = 400;

Size SizeOf(uint64_t seed) { return seed % kSeedsPerLarge == 2 ? Size::kLarge : Size::kSmall; }

// Whether short jobs come once the faults have stopped, and who waits longest for others.
bool IsPressed(uint64_t seed) { return seed % kSeedsPerPressed == 1; }

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
  int64_t late = 0;       // words of streams that were gone
  int64_t strays = 0;     // ranks that nobody wanted, and that were stopped
  int64_t old_logs = 0;   // of jobs, that the site's policy removed
  int64_t removed = 0;    // jobs
  int64_t outputs = 0;    // questions to hosts about them
  int64_t fenced = 0;     // workers with a rank
  int64_t loans = 0;      // that ended while jobs ran
  int64_t longest_s = 0;  // that a job waited in front, while short ones came
  int64_t most_live = 0;  // devices that jobs had at once
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

Steps AllSteps(uint64_t seed) {
  if (const char* text = std::getenv("TRAINCTL_STEPS")) {
    std::istringstream steps(text);
    return {std::istream_iterator<int64_t>(steps), {}};
  }
  Steps steps(SizeOf(seed) == Size::kLarge ? kStepsPerLargeSeed : kStepsPerSeed);
  std::iota(steps.begin(), steps.end(), 0);
  return steps;
}

int64_t DevicesInUse(const State& state) {
  return std::ranges::count_if(state.workers,
                               [](const auto& entry) { return entry.second.holder.has_value(); });
}

void Press(SimCluster& cluster, Invariants& invariants, Seen* seen) {
  WaitsInFront waits;
  cluster.Calm();
  for (int second = 0; second < kSecondsOfPressure && !testing::Test::HasFailure(); ++second) {
    cluster.Press();
    cluster.NobodyIsOverlooked();
    invariants.Check(cluster);
    waits.Note(cluster.state(), cluster.now());
  }
  seen->longest_s = std::max(seen->longest_s, waits.longest_seconds());
}

// What happens: each event by its place in core::Event, and what the core does.
void Trace(const Event& event, const Actions& actions) {
  std::printf("event %zu:\n%s\n", event.index(), Describe(actions).c_str());
}

void Simulate(uint64_t seed, const Steps& steps, Seen* seen) {
  SimCluster::Setting setting{.size = SizeOf(seed)};
  if (std::getenv("TRAINCTL_STEPS") != nullptr) setting.on_step = Trace;
  SimCluster cluster(seed, setting);
  Invariants invariants;
  for (const int64_t step : steps) {
    cluster.Disturb(step);
    cluster.NobodyIsOverlooked();
    invariants.Check(cluster);
    seen->most_live = std::max(seen->most_live, DevicesInUse(cluster.state()));
    if (testing::Test::HasFailure()) return;
  }
  if (IsPressed(seed)) Press(cluster, invariants, seen);
  if (testing::Test::HasFailure()) return;
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
  seen->strays += cluster.strays();
  seen->old_logs += cluster.old_logs();
  seen->removed += cluster.removed();
  seen->outputs += cluster.outputs_asked();
  seen->fenced += cluster.fenced();
  seen->loans += cluster.loans();
}

// Whatever is thrown fails the seed, as an invariant that does not hold.
void SimulateAndCatch(uint64_t seed, const Steps& steps, Seen* seen) {
  seen->seed = seed;
  SCOPED_TRACE("TRAINCTL_SEED=" + std::to_string(seed));
  try {
    Simulate(seed, steps, seen);
  } catch (const std::exception& error) {
    ADD_FAILURE() << "it throws: " << error.what();
  }
}

// In a process of its own, which may abort. Stops at the first seed that fails.
// `steps`: of the one seed; null: all of each.
bool Fails(uint64_t first, uint64_t last, const Steps* steps, Seen* seen, bool is_quiet) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (is_quiet && (std::freopen("/dev/null", "w", stdout) == nullptr ||
                     std::freopen("/dev/null", "w", stderr) == nullptr))
      _exit(2);
    for (uint64_t seed = first; seed <= last && !testing::Test::HasFailure(); ++seed) {
      SimulateAndCatch(seed, steps == nullptr ? AllSteps(seed) : *steps, seen);
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
Steps Shrink(uint64_t seed, Seen* seen) {
  Steps steps = AllSteps(seed);
  for (size_t size = steps.size() / 2; size > 0; size /= 2) {
    for (size_t from = 0; from < steps.size();) {
      Steps fewer = steps;
      const auto begin = fewer.begin() + static_cast<std::ptrdiff_t>(from);
      fewer.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(size, steps.size() - from)));
      if (Fails(seed, seed, &fewer, seen, true)) {
        steps = std::move(fewer);
      } else {
        from += size;
      }
    }
  }
  return steps;
}

// Tells how the shrunk seed fails.
std::string TellFailure(uint64_t seed, Seen* seen) {
  const Steps steps = Shrink(seed, seen);
  std::string text = "TRAINCTL_SEED=" + std::to_string(seed) + " fails; of its " +
                     std::to_string(AllSteps(seed).size()) +
                     " steps these alone suffice, see above:";
  for (const int64_t step : steps) text += " " + std::to_string(step);
  Fails(seed, seed, &steps, seen, false);
  return text;
}

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(Simulation, EveryInvariantHoldsAndEveryJobEndsUnderAnyFaults) {
  constexpr int kMostFailures = 3;
  const uint64_t asked = FromEnvironment("TRAINCTL_SEED", 0);
  const uint64_t count = FromEnvironment("TRAINCTL_SEEDS", asked == 0 ? kSeeds : 1);
  const uint64_t last = std::max<uint64_t>(asked, 1) + count - 1;
  Seen& seen = *NewSeen();  // PREEMPTED are attempts: such a job goes on
  std::vector<std::string> failures;
  for (uint64_t first = last - count + 1; first <= last; first = seen.seed + 1) {
    if (!Fails(first, last, nullptr, &seen, false)) break;
    const uint64_t failed = seen.seed, held = seen.held;
    failures.push_back(TellFailure(failed, &seen));
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
  EXPECT_GE(seen.strays, 5) << "hardly any worker has a rank that nobody wants";
  EXPECT_GE(seen.old_logs, 20) << "hardly any logs are old enough to go";
  EXPECT_GE(seen.removed, 20) << "hardly any job is removed";
  EXPECT_GE(seen.outputs, 5) << "hardly any host is asked for files of jobs";
  EXPECT_GE(seen.fenced, 5) << "hardly any worker is fenced that has a rank";
  EXPECT_GE(seen.loans, 5) << "hardly any loan ends while jobs run";
  EXPECT_GE(seen.longest_s, 20) << "hardly anybody waits for jobs that go before";
  EXPECT_GE(seen.most_live, 100) << "no cluster is large";
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
  const auto committed = [&](const store::Batch& more) {
    batch.rows.insert(batch.rows.end(), more.rows.begin(), more.rows.end());
  };
  SimCluster cluster(11, {.keeps_power = true, .committed = committed});
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
