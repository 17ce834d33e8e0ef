// What the core decides is what a scheduler decides that looks at each job (plain_schedule.h): over
// random sites, users, quotas, shares, leases, constraints and ends. TRAINCTL_SEED=n replays one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "common/job/linked_gang.h"
#include "server/core/handlers.h"
#include "server/core/lease_wish.h"
#include "server/core/step.h"
#include "tests/sanitized.h"
#include "tests/server/describe.h"
#include "tests/server/simulation/plain_schedule.h"

namespace trainctl::core {
namespace {

constexpr int64_t kTwinSecond = 1'000'000;
constexpr uint64_t kTwinSeeds = tests::kSanitized ? 6 : 25;
constexpr int kTwinEvents = 400;

// Two cores that are told the same.
class Twins {
 public:
  explicit Twins(uint64_t seed) : random_(seed) {
    Options options;
    options.lease_warning_us = 60 * kTwinSecond;
    options.policy.preempt_after_us = 100 * kTwinSecond;
    if (Below(3) > 0) options.policy.half_life_us = (300 + Below(3000)) * kTwinSecond;
    users_ = 1 + Below(6);
    if (Below(4) == 0) options.policy.everyone.max_running_devices = 1 + Below(8);
    for (int64_t user = 0; user < users_; ++user) {
      if (Below(3) > 0) options.policy.users[User(user)].max_running_devices = 1 + Below(8);
    }
    core_.options = plain_.options = options;
    has_leases_ = Below(3) == 0;
    has_preemptible_ = Below(3) == 0;
    const int64_t hosts = 1 + Below(5);
    for (int64_t host = 0; host < hosts; ++host) {
      const char* model = Below(3) == 0 ? "A100" : "H200";
      const int64_t devices = 1 + Below(6);
      for (int64_t device = 0; device < devices; ++device) AddWorker(host, device, model);
    }
  }

  void Disturb() {
    const int64_t dice = Below(100);
    if (dice < 40) return Submit();
    if (dice < 75) return EndOne();
    if (dice < 85) return Pass(1 + Below(20));
    if (dice < 88) return Pass(60 + Below(200));
    if (dice < 91) return Feed(CancelRequested{{1 + Below(static_cast<uint64_t>(core_.next_job))}});
    if (dice < 94) return Drain();
    if (dice < 97) return LoseOrReturn();
    if (has_leases_) MakeLease();
  }

  int64_t placed() const { return placed_; }
  int64_t waited_for_quota() const { return waited_for_quota_; }
  int64_t linked() const { return linked_; }

 private:
  int64_t Below(uint64_t bound) { return static_cast<int64_t>(random_() % bound); }
  static std::string User(int64_t number) { return "user" + std::to_string(number); }

  void Feed(const Event& event) {
    const Actions actions = Step(core_, event, now_);
    const Actions plain = StepWith(plain_, event, now_, PlainSchedule);
    ASSERT_EQ(Describe(actions), Describe(plain));
    for (const Effect& effect : actions.effects) {
      if (const auto* start = std::get_if<StartRank>(&effect)) placed_ += start->key.rank == 0;
    }
    for (const auto& [id, job] : core_.jobs) {
      if (job.lane == Lane::kQueue && !job.demand.user.empty()) ++waited_for_quota_;
    }
    ExpectLinked();
  }

  void AddWorker(int64_t host, int64_t device, const std::string& model) {
    WorkerHello hello;
    hello.worker.host = "h" + std::to_string(host);
    hello.worker.name = hello.worker.host + "/" + std::to_string(device);
    hello.worker.device.kind = job::DeviceKind::kCuda;
    hello.worker.device.index = device;
    hello.worker.device.name = model;
    hello.worker.device.memory_bytes = int64_t{model == "H200" ? 141 : 80} << 30;
    hello.worker.device.labels["rack"] = "r" + std::to_string(host % 2);
    hello.worker.device.uuid = "GPU-" + hello.worker.name;
    for (int64_t other = 0; other < 6; ++other) {
      const std::string uuid = "GPU-" + hello.worker.host + "/" + std::to_string(other);
      if (other != device) hello.worker.device.links[uuid] = LinkOf(host, device, other);
    }
    hello.device_free = true;
    hellos_.push_back(hello);
    Feed(hello);
  }

  // Of each host another: pairs that are closer, threes, all, or a ring.
  static job::LinkKind LinkOf(int64_t host, int64_t left, int64_t right) {
    using enum job::LinkKind;
    const bool is_ring = (left + 1) % 6 == right || (right + 1) % 6 == left;
    switch (host % 4) {
      case 0: return left / 2 == right / 2 ? kNvlink : kOneSwitch;
      case 1: return left % 2 == right % 2 ? kNvlink : kBetweenSockets;
      case 2: return kNvlink;
      default: return is_ring ? kNvlink : kNumaNode;
    }
  }

  // Those that ask for links have them.
  void ExpectLinked() {
    for (const auto& [id, job] : core_.live) {
      const auto links = job::LinksAskedFor(job->row.spec);
      if (!links) continue;
      ++linked_;
      const std::vector<Rank>& ranks = job->attempt->ranks;
      for (size_t i = 0; i < ranks.size(); ++i) {
        for (size_t j = i + 1; j < ranks.size(); ++j)
          EXPECT_TRUE(job::MeetsLink(*links, core_.free.Link(ranks[i].device, ranks[j].device)));
      }
    }
  }

  void Submit() {
    static constexpr std::array<int64_t, 6> kLimits = {20, 60, 120, 300, 900, 3600};
    static constexpr std::array<std::pair<const char*, const char*>, 10> kConstraints = {
        {{"gpu.memory", ">=100GiB"},
         {"host", "=h0"},
         {"host", "!=h0"},
         {"host", "=h0,h1"},
         {"label.rack", "=r1"},
         {"label.rack", "!=r1"},
         {"gpu.links", "=NVLink"},
         {"gpu.links", ">=PIX"},
         {"gpu.links", ">=SYS"},
         {"gpu.links", "<=PIX"}}};
    JobsSubmitted event{"r", "", {}};
    event.user = User(Below(static_cast<uint64_t>(users_)));
    for (int64_t copies = 1 + Below(3); copies > 0; --copies) {
      job::JobSpec spec;
      spec.devices = Below(2) == 0 ? 1 : 1 + Below(6);
      spec.exclusive = Below(12) == 0;
      spec.resources.priority = Below(3) * 25;
      spec.resources.preemptible = has_preemptible_ && Below(2) == 0;
      spec.resources.step_timeout_seconds = 1'000'000;
      if (Below(3) > 0) spec.resources.time_limit_seconds = kLimits[Below(kLimits.size())];
      for (int64_t more = Below(3); more > 1; more = Below(3)) {
        const auto& [key, text] = kConstraints[Below(kConstraints.size())];
        spec.resources.constraints[key] = text;
      }
      if (!core_.leases.empty() && Below(4) == 0)
        spec.resources.lease = core_.leases.begin()->second.row.name;
      std::optional<job::Prediction> prediction;
      if (Below(4) == 0) {
        prediction.emplace().time.emplace();
        prediction->time->device_name = Below(2) == 0 ? "A100" : "H200";
        prediction->time->total_seconds = static_cast<double>(30 + Below(1000));
      }
      const bool is_inspected = Below(10) > 0;
      event.jobs.push_back(
          {spec, is_inspected ? std::optional(job::Inspection()) : std::nullopt, prediction});
    }
    event.force = Below(5) == 0;
    Feed(event);
  }

  void EndOne() {
    if (core_.live.empty()) return Pass(1);
    auto next = core_.live.begin();
    std::advance(next, Below(core_.live.size()));
    const std::vector<Rank> ranks = next->second->attempt->ranks;
    for (const Rank& rank : ranks) {
      Feed(RankReported{rank.row.worker, rank.row.key, 1,
                        job::RankOutcome{job::Outcome::kSucceeded, "", std::nullopt}});
      Feed(RankReported{rank.row.worker, rank.row.key, 2, job::RankExit{.exit_code = 0}});
    }
    for (const Rank& rank : ranks)
      Feed(DeviceStateChanged{rank.row.worker, Below(10) > 0, "dirty"});
  }

  void Pass(int64_t seconds) {
    now_.wall += seconds * kTwinSecond;
    now_.steady += seconds * kTwinSecond;
    Feed(Tick{});
  }

  void Drain() {
    const WorkerHello& hello = hellos_[Below(hellos_.size())];
    const std::string target = Below(2) == 0 ? hello.worker.name : hello.worker.host;
    if (Below(2) == 0) return Feed(DevicesUndrained{target});
    Feed(DevicesDrained{target, "ops", "to be mended"});
  }

  void LoseOrReturn() {
    WorkerHello hello = hellos_[Below(hellos_.size())];
    const Worker& worker = core_.workers.at(hello.worker.name);
    if (worker.connected) return Feed(WorkerStreamLost{hello.worker.name});
    if (worker.holder) hello.held.push_back({*worker.holder, true});
    hello.device_free = !worker.holder;
    Feed(hello);
  }

  void MakeLease() {
    const LeaseWish wish{.devices = 1 + Below(3),
                         .start = now_.wall + Below(600) * kTwinSecond,
                         .length_us = (120 + Below(600)) * kTwinSecond};
    const auto row = NewLease(core_, wish, "", now_);
    if (row) Feed(LeaseMade{*row});
  }

  std::mt19937_64 random_;
  State core_, plain_;
  Now now_{1'000 * kTwinSecond, 1'000 * kTwinSecond};
  int64_t users_ = 1;
  bool has_leases_ = false;
  bool has_preemptible_ = false;
  std::vector<WorkerHello> hellos_;
  int64_t placed_ = 0;
  int64_t waited_for_quota_ = 0;
  int64_t linked_ = 0;
};

TEST(Schedule, DecidesWhatASchedulerDecidesThatLooksAtEachJob) {
  const char* seed_text = std::getenv("TRAINCTL_SEED");
  const uint64_t first = seed_text == nullptr ? 1 : std::strtoull(seed_text, nullptr, 10);
  const uint64_t last = seed_text == nullptr ? kTwinSeeds : first;
  int64_t placed = 0, waited_for_quota = 0, linked = 0;
  for (uint64_t seed = first; seed <= last && !HasFailure(); ++seed) {
    SCOPED_TRACE("TRAINCTL_SEED=" + std::to_string(seed));
    Twins twins(seed);
    for (int event = 0; event < kTwinEvents && !HasFailure(); ++event) twins.Disturb();
    placed += twins.placed();
    waited_for_quota += twins.waited_for_quota();
    linked += twins.linked();
  }
  EXPECT_GE(placed, static_cast<int64_t>(10 * (last - first + 1)));
  EXPECT_GE(waited_for_quota, static_cast<int64_t>(100 * (last - first + 1)));
  EXPECT_GE(linked, static_cast<int64_t>(last - first)) << "a seed may have none";
}

}  // namespace
}  // namespace trainctl::core
