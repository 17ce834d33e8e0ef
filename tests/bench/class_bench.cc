// A day of a class on a large site, on a clock of its own: 200 students hand in 100,000 jobs for
// 1,000 devices, most of them in the hours before the evening. The core decides everything, with
// quotas, fair share, backfill by time limits, links and a few leases. Printed: how busy the
// devices were, how long who waited, and how many decisions a second the core made.
//   class_bench [jobs=100000] [devices=1000] [students=200] [seed=1]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "common/estimate/memory_estimate.h"
#include "server/core/lease_wish.h"
#include "server/core/step.h"
#include "tests/bench/linked_gpu.h"

namespace trainctl::core {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kDay = 86'400 * kSecond;
constexpr int64_t kDevicesPerHost = 8;

struct Day {
  int64_t jobs = 100'000;
  int64_t devices = 1000;
  int64_t students = 200;
  uint64_t seed = 1;
};

// Of jobs of one width: how long they waited, in seconds.
using Waits = std::map<int64_t, std::vector<double>>;

class ClassDay {
 public:
  explicit ClassDay(const Day& day) : day_(day), random_(day.seed) {
    state_.options.policy.max_queued_jobs = day.jobs;
    state_.options.policy.everyone.max_running_devices = std::max<int64_t>(16, day.devices / 32);
    state_.options.policy.half_life_us = 4 * 3600 * kSecond;
    for (int64_t device = 0; device < day.devices; ++device) AddWorker(device);
    for (int64_t job = 0; job < day.jobs; ++job) submissions_.push_back(SubmittedAt());
    std::ranges::sort(submissions_);
    for (int64_t lease = 0; lease < 8; ++lease) MakeLease();
  }

  void Run() {
    size_t submitted = 0;
    int64_t tick = kSecond;
    while (submitted < submissions_.size() || !ends_.empty()) {
      const int64_t next_submission =
          submitted < submissions_.size() ? submissions_[submitted] : INT64_MAX;
      const int64_t next_end = ends_.empty() ? INT64_MAX : ends_.top().first;
      const int64_t next = std::min({next_submission, next_end, tick});
      busy_ += InUse() * (next - at_);
      at_ = next;
      if (next == tick) {
        tick += 10 * kSecond;
        Feed(Tick{});
      } else if (next == next_end) {
        const base::JobId job = ends_.top().second;
        ends_.pop();
        End(job);
      } else {
        ++submitted;
        Submit();
      }
    }
  }

  int64_t seconds() const { return at_ / kSecond; }
  int64_t decisions() const { return placed_; }
  int64_t events() const { return events_; }
  int64_t most_queued() const { return most_queued_; }
  double utilization() const {
    return static_cast<double>(busy_) / static_cast<double>(at_) /
           static_cast<double>(day_.devices);
  }
  // Until the last job was handed in.
  Waits waits;
  std::map<std::string, double> waited_by_student;

 private:
  int64_t Below(uint64_t bound) { return static_cast<int64_t>(random_() % bound); }
  Now now() const { return {day_start_ + at_, kSecond + at_}; }

  void Feed(const Event& event) {
    ++events_;
    for (const Effect& effect : Step(state_, event, now()).effects) {
      const auto* start = std::get_if<StartRank>(&effect);
      if (start != nullptr && start->key.rank == 0) Placed(start->key.job);
    }
    most_queued_ = std::max(most_queued_, static_cast<int64_t>(state_.queue.size()));
  }

  void Placed(base::JobId id) {
    ++placed_;
    const Job& job = *FindJob(state_, id);
    const double waited = static_cast<double>(now().wall - job.row.submitted_at) / 1e6;
    waits[job.row.spec.devices].push_back(waited);
    waited_by_student[job.row.user] += waited;
    const int64_t limit = *job.row.spec.resources.time_limit_seconds;
    // Most end well before their limit.
    ends_.push(
        {at_ + (limit / 10 + Below(static_cast<uint64_t>(limit) * 8 / 10 + 1)) * kSecond, id});
  }

  int64_t InUse() const {
    int64_t free = 0;
    for (const auto& pool : state_.free.pools()) free += pool.free;
    return day_.devices - free;
  }

  // The class works from the morning on, more and more until eight in the evening.
  int64_t SubmittedAt() {
    std::normal_distribution<double> hour(16.0, 3.5);
    return static_cast<int64_t>(std::clamp(hour(random_), 0.0, 23.9) * 3600) * kSecond +
           Below(3600) * kSecond / 10;
  }

  void AddWorker(int64_t device) {
    WorkerHello hello;
    hello.worker.host = "host" + std::to_string(device / kDevicesPerHost);
    hello.worker.name = hello.worker.host + "/" + std::to_string(device % kDevicesPerHost);
    job::Device& gpu = hello.worker.device;
    gpu.kind = job::DeviceKind::kCuda;
    gpu.index = device % kDevicesPerHost;
    gpu.name = device < day_.devices / 2 ? "H200" : "A100";
    gpu.memory_bytes = int64_t{device < day_.devices / 2 ? 141 : 80} << 30;
    LinkWithinHost(device, kDevicesPerHost, &gpu);
    hello.device_free = true;
    Feed(hello);
  }

  void MakeLease() {
    const LeaseWish wish{.devices = 4,
                         .start = day_start_ + (8 + Below(12)) * 3600 * kSecond,
                         .length_us = 2 * 3600 * kSecond};
    const auto row = NewLease(state_, wish, "student0", now());
    if (row) Feed(LeaseMade{*row});
  }

  void Submit() {
    static constexpr int64_t kWidths[] = {1, 1, 1, 1, 1, 2, 2, 4, 4, 8};
    static constexpr int64_t kMinutes[] = {1, 2, 5, 5, 5, 10, 20};
    job::JobSpec spec;
    spec.devices = kWidths[random_() % std::size(kWidths)];
    spec.resources.step_timeout_seconds = 1'000'000;
    spec.resources.time_limit_seconds = 60 * kMinutes[random_() % std::size(kMinutes)];
    if (Below(4) == 0) spec.resources.constraints["gpu.memory"] = ">=100GiB";
    const std::string user =
        "student" + std::to_string(Below(static_cast<uint64_t>(day_.students)));
    Feed(JobsSubmitted{"r", "", {{spec, job::Inspection(), std::nullopt}}, false, user});
  }

  void End(base::JobId id) {
    const Job* job = FindJob(state_, id);
    if (job == nullptr || !job->attempt) return;
    const std::vector<Rank> ranks = job->attempt->ranks;
    for (const Rank& rank : ranks) {
      Feed(RankReported{rank.row.worker, rank.row.key, 1,
                        job::RankOutcome{job::Outcome::kSucceeded, "", std::nullopt}});
      Feed(RankReported{rank.row.worker, rank.row.key, 2, job::RankExit{.exit_code = 0}});
    }
  }

  using End_ = std::pair<int64_t, base::JobId>;

  const Day day_;
  std::mt19937_64 random_;
  State state_;
  const base::WallMicros day_start_ = 1'800'000'000 * kSecond;
  int64_t at_ = 0;  // since the day's start
  std::vector<int64_t> submissions_;
  std::priority_queue<End_, std::vector<End_>, std::greater<>> ends_;
  int64_t busy_ = 0;  // device-microseconds
  int64_t placed_ = 0;
  int64_t events_ = 0;
  int64_t most_queued_ = 0;
};

double Quantile(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<size_t>(part * static_cast<double>(sorted.size() - 1))];
}

void PrintWaits(const char* name, std::vector<double> waits) {
  std::ranges::sort(waits);
  std::printf("%-14s %8zu %10.0f %10.0f %10.0f %10.0f\n", name, waits.size(), Quantile(waits, 0.5),
              Quantile(waits, 0.9), Quantile(waits, 0.99), waits.back());
}

void Print(const Day& day, const ClassDay& run, double seconds) {
  std::printf(
      "%lld jobs of %lld students on %lld devices: the last ended after %.1f h; devices %.1f %% "
      "busy; at most %lld waited\n\n",
      static_cast<long long>(day.jobs), static_cast<long long>(day.students),
      static_cast<long long>(day.devices), static_cast<double>(run.seconds()) / 3600,
      100 * run.utilization(), static_cast<long long>(run.most_queued()));
  std::printf("%-14s %8s %10s %10s %10s %10s\n", "waited (s)", "jobs", "half", "90 %", "99 %",
              "all");
  std::vector<double> all, by_student;
  for (const auto& [width, waits] : run.waits) {
    PrintWaits((std::to_string(width) + (width == 1 ? " device" : " devices")).c_str(), waits);
    all.insert(all.end(), waits.begin(), waits.end());
  }
  PrintWaits("any", all);
  for (const auto& [student, waited] : run.waited_by_student)
    by_student.push_back(waited * static_cast<double>(day.students) /
                         static_cast<double>(day.jobs));
  PrintWaits("a student's", by_student);
  std::printf("\n%.1f s of this machine: %.0f decisions/s, %.0f events/s\n", seconds,
              static_cast<double>(run.decisions()) / seconds,
              static_cast<double>(run.events()) / seconds);
}

}  // namespace
}  // namespace trainctl::core

int main(int argc, char** argv) {
  const auto number = [&](int index, int64_t otherwise) {
    return argc > index ? std::atoll(argv[index]) : otherwise;
  };
  const trainctl::core::Day day{.jobs = number(1, 100'000),
                                .devices = number(2, 1000),
                                .students = number(3, 200),
                                .seed = static_cast<uint64_t>(number(4, 1))};
  const auto start = std::chrono::steady_clock::now();
  trainctl::core::ClassDay run(day);
  run.Run();
  trainctl::core::Print(
      day, run, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}
