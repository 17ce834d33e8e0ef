// How many placement decisions a second the core makes with 10,000 jobs queued on 1,000 devices:
// gangs of 1 to 16, three priorities, two models of device, some with constraints. Each placed job
// ends at once, its place in the queue is taken by a new one.
//   scheduler_bench [placements=20000] [limits] [policy] [racks] [links] [large]
// With `limits` most jobs have a time limit, and short ones pass those that wait. With `policy`
// they are of 200 users, each with a quota, and share the site fairly. With `racks` every sixteenth
// names one of eight racks. With `links` NVLink joins the devices of a host. With `large` 100,000
// jobs are queued on 10,000 devices.
// The bar is 5,000 a second.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <random>
#include <set>
#include <string>

#include "common/estimate/memory_estimate.h"
#include "server/core/step.h"
#include "tests/bench/linked_gpu.h"

namespace trainctl::core {
namespace {

constexpr int64_t kDevicesPerHost = 8;
constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kUsers = 200;
constexpr int64_t kRacks = 8;

struct Load {
  bool has_limits = false;
  bool has_policy = false;
  bool has_racks = false;
  bool has_links = false;
  int64_t devices = 1000;
  int64_t queued = 10'000;
};

class Bench {
 public:
  explicit Bench(const Load& load) : load_(load) {
    state_.options.policy.max_queued_jobs = load.queued;
    if (load.has_policy) {
      state_.options.policy.everyone.max_running_devices = std::max<int64_t>(16, load.devices / 64);
      state_.options.policy.half_life_us = 3600 * kSecond;
    }
    for (int64_t device = 0; device < load.devices; ++device) AddWorker(device);
  }

  // Fills the site and the queue.
  void Fill() {
    while (static_cast<int64_t>(state_.queue.size()) < load_.queued) Submit();
  }

  // Ends running jobs, oldest first, until so many others were placed.
  void Place(int64_t placements) {
    placed_ = 0;
    while (placed_ < placements) {
      const base::JobId job = running_.front();
      running_.pop_front();
      now_.steady += kSecond;
      now_.wall += kSecond;
      if (load_.has_policy && now_.wall / kSecond % 60 == 0) Feed(Tick{});
      End(job);
      while (static_cast<int64_t>(state_.queue.size()) < load_.queued) Submit();
    }
  }

  int64_t events() const { return events_; }
  // A hash of which rank was placed where, in order: equal decisions have equal ones.
  uint64_t decisions() const { return decisions_; }

 private:
  void Feed(const Event& event) {
    ++events_;
    for (const Effect& effect : Step(state_, event, now_).effects) {
      const auto* start = std::get_if<StartRank>(&effect);
      if (start == nullptr) continue;
      Note(base::ToString(start->key.job) + start->worker);
      if (start->key.rank != 0) continue;
      running_.push_back(start->key.job);
      ++placed_;
    }
  }

  void Note(const std::string& decision) {
    for (const char c : decision)
      decisions_ = (decisions_ ^ static_cast<uint8_t>(c)) * 1'099'511'628'211u;
  }

  void AddWorker(int64_t device) {
    WorkerHello hello;
    hello.worker.host = "host" + std::to_string(device / kDevicesPerHost);
    hello.worker.name = hello.worker.host + "/" + std::to_string(device % kDevicesPerHost);
    hello.worker.device.kind = job::DeviceKind::kCuda;
    hello.worker.device.index = device % kDevicesPerHost;
    hello.worker.device.name = device < load_.devices / 2 ? "H200" : "A100";
    hello.worker.device.memory_bytes = int64_t{device < load_.devices / 2 ? 141 : 80} << 30;
    if (load_.has_racks) {
      const int64_t rack = device / kDevicesPerHost % kRacks;
      hello.worker.device.labels["rack"] = "r" + std::to_string(rack);
    }
    if (load_.has_links) LinkWithinHost(device, kDevicesPerHost, &hello.worker.device);
    hello.device_free = true;
    Feed(hello);
  }

  void Submit() {
    static constexpr int64_t kSizes[] = {1, 1, 1, 1, 2, 2, 4, 4, 8, 16};
    job::JobSpec spec;
    spec.devices = kSizes[random_() % 10];
    spec.resources.priority = static_cast<int64_t>(random_() % 3) * 25;
    if (random_() % 4 == 0) spec.resources.constraints["gpu.memory"] = ">=100GiB";
    if (load_.has_racks && random_() % 16 == 0)
      spec.resources.constraints["label.rack"] = "=r" + std::to_string(random_() % kRacks);
    if (load_.has_limits && random_() % 8 > 0)
      spec.resources.time_limit_seconds = 60 * (1 + static_cast<int64_t>(random_() % 100));
    const std::string user =
        load_.has_policy ? "user" + std::to_string(random_() % kUsers) : std::string();
    Feed(JobsSubmitted{"r", "", {{spec, job::Inspection(), std::nullopt}}, false, user});
  }

  void End(base::JobId id) {
    const std::vector<Rank> ranks = FindJob(state_, id)->attempt->ranks;
    for (const Rank& rank : ranks) {
      Feed(RankReported{rank.row.worker, rank.row.key, 1,
                        job::RankOutcome{job::Outcome::kSucceeded, "", std::nullopt}});
      Feed(RankReported{rank.row.worker, rank.row.key, 2, job::RankExit{.exit_code = 0}});
    }
  }

  const Load load_;
  State state_;
  Now now_{1, 1};
  std::mt19937_64 random_{1};
  std::deque<base::JobId> running_;
  int64_t placed_ = 0;
  int64_t events_ = 0;
  uint64_t decisions_ = 14'695'981'039'346'656'037u;
};

}  // namespace
}  // namespace trainctl::core

int main(int argc, char** argv) {
  const int64_t placements = argc > 1 ? std::atoll(argv[1]) : 20'000;
  const std::set<std::string> words(argv + std::min(argc, 2), argv + argc);
  trainctl::core::Load load{.has_limits = words.contains("limits"),
                            .has_policy = words.contains("policy"),
                            .has_racks = words.contains("racks"),
                            .has_links = words.contains("links")};
  if (words.contains("large")) {
    load.devices = 10'000;
    load.queued = 100'000;
  }
  trainctl::core::Bench bench(load);
  bench.Fill();
  const int64_t events_before = bench.events();
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu_start = std::clock();
  bench.Place(placements);
  const double cpu_seconds = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto events = static_cast<double>(bench.events() - events_before);
  std::printf(
      "%lld jobs%s%s%s%s placed with %lld queued on %lld devices: %.0f placements/s, %.0f "
      "events/s; "
      "%.0f placements a second of CPU time; decisions %016llx\n",
      static_cast<long long>(placements), load.has_limits ? " with time limits" : "",
      load.has_policy ? " by quota and fair share" : "", load.has_racks ? " on racks" : "",
      load.has_links ? " with links" : "", static_cast<long long>(load.queued),
      static_cast<long long>(load.devices), static_cast<double>(placements) / seconds,
      events / seconds, static_cast<double>(placements) / cpu_seconds,
      static_cast<unsigned long long>(bench.decisions()));
}
