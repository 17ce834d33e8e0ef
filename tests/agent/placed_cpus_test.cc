// From the scheduler's placement through the plan's JSON to the CPUs of a rank, with both real
// sides: no two jobs on a host share a CPU, and an exclusive one has them all.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "common/rank/rank_json.h"
#include "server/core/step.h"
#include "tests/job/valid_job.h"
#include "worker/agent/host_cpus.h"

namespace trainctl {
namespace {

constexpr int kCpus = 32;

agent::HostCpus TwoNodes() {
  agent::HostCpus host;
  for (int cpu = 0; cpu < kCpus; ++cpu) {
    host.allowed.push_back(cpu);
    host.node_of[cpu] = cpu % 16 / 8;
  }
  return host;
}

// GPUs of hosts with two nodes each, and the CPUs of the ranks that run there.
class Site {
 public:
  static constexpr int kGpus = 4;

  Site() {
    for (const char* host : {"a", "b"}) {
      for (int64_t gpu = 0; gpu < kGpus; ++gpu) {
        core::WorkerHello hello{.device_free = true};
        hello.worker.host = host;
        hello.worker.name = std::string(host) + "/" + std::to_string(gpu);
        hello.worker.device = {.kind = job::DeviceKind::kCuda, .index = gpu, .threads = 8};
        Feed(hello);
      }
    }
  }

  base::JobId Submit(int64_t devices, bool exclusive) {
    job::JobSpec spec = job::SmallestJob();
    spec.devices = devices;
    spec.exclusive = exclusive;
    Feed(core::JobsSubmitted{
        std::to_string(++requests_), "", {{spec, job::Inspection(), std::nullopt, false}}});
    return {requests_};
  }

  // All ranks do their work, and their devices are free again.
  void End(base::JobId job) {
    const std::vector<core::Rank> ranks = state_.jobs.at(job).attempt->ranks;
    for (const core::Rank& rank : ranks) {
      cpus_.erase(rank.row.key);
      Feed(core::RankReported{rank.row.worker, rank.row.key, 1,
                              job::RankOutcome{job::Outcome::kSucceeded, ""}});
      Feed(core::RankReported{rank.row.worker, rank.row.key, 2, job::RankExit{.exit_code = 0}});
    }
    for (const core::Rank& rank : ranks) Feed(core::DeviceStateChanged{rank.row.worker, true, ""});
  }

  const core::State& state() const { return state_; }
  const std::map<job::RankKey, std::vector<int>>& cpus() const { return cpus_; }

  // On each host no CPU is of two jobs.
  void ExpectNoCpuIsShared() const {
    std::map<std::pair<std::string, int>, base::JobId> owners;
    for (const auto& [key, cpus] : cpus_) {
      ASSERT_FALSE(cpus.empty());
      const core::Rank& rank = state_.jobs.at(key.job).attempt->ranks.at(key.rank);
      for (const int cpu : cpus) {
        const auto [other, is_new] = owners.try_emplace({rank.row.host, cpu}, key.job);
        ASSERT_TRUE(is_new) << job::ToString(key) << " shares CPU " << cpu << " of "
                            << rank.row.host << " with " << base::ToString(other->second);
      }
    }
  }

 private:
  void Feed(const core::Event& event) {
    now_.wall = now_.steady += 1'000'000;
    for (const core::Effect& effect : core::Step(state_, event, now_).effects) {
      if (const auto* start = std::get_if<core::StartRank>(&effect)) Start(*start);
    }
  }

  // As the worker does.
  void Start(const core::StartRank& start) {
    const auto plan = job::RankPlanFromJson(job::ToJson(start.plan));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    cpus_[start.key] = agent::CpusOf(*plan, state_.workers.at(start.worker).row.device.index,
                                     TwoNodes(), {0, 0, 1, 1});
  }

  core::State state_;
  core::Now now_;
  int64_t requests_ = 0;
  std::map<job::RankKey, std::vector<int>> cpus_;
};

TEST(PlacedCpus, OfAnExclusiveJobAreAllOfItsHostSharedOutAmongItsRanks) {
  Site site;
  const base::JobId one = site.Submit(1, true);
  EXPECT_EQ(site.cpus().at({one, 1, 0}).size(), static_cast<size_t>(kCpus));
  const base::JobId three = site.Submit(3, true);
  std::set<int> all;
  for (int64_t rank = 0; rank < 3; ++rank) {
    const std::vector<int>& cpus = site.cpus().at({three, 1, rank});
    EXPECT_GE(cpus.size(), 8u);
    all.insert(cpus.begin(), cpus.end());
  }
  EXPECT_EQ(all.size(), static_cast<size_t>(kCpus));
  site.ExpectNoCpuIsShared();
}

TEST(PlacedCpus, OfJobsThatShareAHostLieOnTheirGpusNodes) {
  Site site;
  const base::JobId one = site.Submit(1, false), two = site.Submit(2, false);
  EXPECT_EQ(site.cpus().at({one, 1, 0}), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(site.cpus().at({two, 1, 0}), (std::vector<int>{16, 17, 18, 19, 20, 21, 22, 23}));
  EXPECT_EQ(site.cpus().at({two, 1, 1}), (std::vector<int>{8, 9, 10, 11, 12, 13, 14, 15}));
}

TEST(PlacedCpus, AreNeverThoseOfTwoJobsWhateverComesAndGoes) {
  Site site;
  std::mt19937_64 random(5);
  for (int step = 0; step < 300; ++step) {
    if (random() % 2 == 0) {
      site.Submit(1 + static_cast<int64_t>(random() % 6), random() % 3 == 0);
    } else if (!site.state().live.empty()) {
      site.End(std::next(site.state().live.begin(),
                         static_cast<int64_t>(random() % site.state().live.size()))
                   ->first);
    }
    site.ExpectNoCpuIsShared();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace trainctl
