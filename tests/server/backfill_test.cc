// Jobs that pass the head of the queue, under many seeds. Sites have two models of device. Jobs
// have all sizes, and end by their time limits or before; some have none. What some claim of their
// time is wrong. Leases take idle devices for a time. What the core decides is held against a book
// of its own: when the head would start by the ends that are certain.
// TRAINCTL_SEED=n replays one seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "server/core/lease_wish.h"
#include "server/core/step.h"
#include "tests/sanitized.h"

namespace trainctl::core {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr uint64_t kSeeds = tests::kSanitized ? 20 : 200;
constexpr int kEvents = 300;

struct Slot {
  std::string host;
  std::string model;
  base::JobId job;                    // 0: free
  std::optional<int64_t> latest_end;  // of the job; nullopt: it has no time limit
  int64_t leased_until = 0;           // 0: it is under no lease
};

struct Run {
  std::vector<job::RankKey> ranks;
  std::vector<std::string> workers;
  int64_t true_end = 0;
};

class Site {
 public:
  explicit Site(uint64_t seed) : random_(seed) {
    const int64_t hosts = 1 + Below(3);
    for (int64_t host = 0; host < hosts; ++host) {
      const std::string model = Below(4) == 0 ? "A100" : "H200";
      for (int64_t device = Below(4); device >= 0; --device) AddWorker(host, device, model);
    }
  }

  void Disturb() {
    if (Below(20) == 0) return Lend();
    if (!SomethingEnds() || Below(5) < 2) return Submit();
    EndNext();
  }

  // Ends all that runs: then nothing may wait.
  void Settle() {
    while (SomethingEnds() && !testing::Test::HasFailure()) EndNext();
    if (!waiting_.empty()) ADD_FAILURE() << base::ToString(waiting_.begin()->second) << " starves";
  }

  int64_t passed() const { return passed_; }
  int64_t leases() const { return leases_; }

 private:
  using Place = std::pair<int64_t, base::JobId>;  // in the queue's order: −priority, id
  using Time = std::optional<int64_t>;

  int64_t Below(uint64_t bound) { return static_cast<int64_t>(random_() % bound); }

  Place PlaceOf(base::JobId id) const { return {-job::PriorityOf(specs_.at(id)), id}; }

  void AddWorker(int64_t host, int64_t device, const std::string& model) {
    WorkerHello hello;
    hello.worker.host = "h" + std::to_string(host);
    hello.worker.name = hello.worker.host + "/" + std::to_string(device);
    hello.worker.device.kind = job::DeviceKind::kCuda;
    hello.worker.device.index = device;
    hello.worker.device.name = model;
    hello.worker.device.memory_bytes = int64_t{model == "H200" ? 141 : 80} << 30;
    hello.device_free = true;
    slots_[hello.worker.name] = {hello.worker.host, model, {}, std::nullopt};
    Feed(hello);
  }

  void Submit() {
    static constexpr int64_t kLimits[] = {30, 60, 120, 300, 600, 3600};
    job::JobSpec spec;
    spec.devices = Below(2) == 0 ? 1 : 1 + Below(6);
    spec.exclusive = Below(8) == 0;
    spec.resources.step_timeout_seconds = 1'000'000;
    spec.resources.priority = Below(6) == 0 ? 60 : 50;
    if (Below(5) > 0) spec.resources.time_limit_seconds = kLimits[Below(6)];
    if (Below(4) == 0) spec.resources.constraints["gpu.memory"] = ">=100GiB";
    if (Models(spec, true).empty()) return;
    const base::JobId id{state_.next_job};
    specs_[id] = spec;
    waiting_.insert(PlaceOf(id));
    Feed(JobsSubmitted{"r", "", {{spec, job::Inspection(), Claim()}}});
  }

  // What its user says of the run: mostly that it is over soon, which is wrong.
  std::optional<job::Prediction> Claim() {
    if (Below(2) == 0) return std::nullopt;
    job::Prediction claim;
    claim.time.emplace().total_seconds = static_cast<double>(1 + Below(60));
    claim.time->device_name = Below(2) == 0 ? "A100" : "H200";
    claim.time->claimed = true;
    return claim;
  }

  // A lease that begins now, of idle devices.
  void Lend() {
    const LeaseWish wish{
        .devices = 1 + Below(3), .start = now_.wall, .length_us = (120 + Below(1'000)) * kSecond};
    const auto row = NewLease(state_, wish, "", now_);
    const bool are_idle = row && std::ranges::all_of(row->workers, [&](const auto& worker) {
                            return slots_.at(worker).job == base::JobId();
                          });
    if (!are_idle) return;
    reserved_.reset();  // it goes before all
    for (const std::string& worker : row->workers)
      slots_.at(worker).leased_until = now_.steady + (row->end - now_.wall);
    ++leases_;
    Feed(LeaseMade{*row});
  }

  void Pass(int64_t until) {
    now_.wall += until - now_.steady;
    now_.steady = until;
  }

  // Of the next lease that ends; 0: there is none.
  int64_t NextReturn() const {
    int64_t next = 0;
    for (const auto& [name, slot] : slots_) {
      const int64_t at = slot.leased_until;
      if (at != 0 && (next == 0 || at < next)) next = at;
    }
    return next;
  }

  bool SomethingEnds() const { return !running_.empty() || NextReturn() != 0; }

  void Return(int64_t at) {
    Pass(at);
    for (auto& [name, slot] : slots_) {
      if (slot.leased_until == at) slot.leased_until = 0;
    }
    Feed(Tick{});
  }

  void EndNext() {
    const auto next = std::ranges::min_element(
        running_, {}, [](const auto& entry) { return entry.second.true_end; });
    const int64_t lease = NextReturn();
    if (lease != 0 && (next == running_.end() || lease <= next->second.true_end))
      return Return(lease);
    const auto [id, run] = *next;
    running_.erase(next);
    Pass(run.true_end);
    for (auto& [name, slot] : slots_) {
      if (slot.job == id) slot.job = {};
    }
    for (size_t i = 0; i < run.ranks.size(); ++i) {
      Feed(RankReported{run.workers[i], run.ranks[i], 1,
                        job::RankOutcome{job::Outcome::kSucceeded, "", std::nullopt}});
      Feed(RankReported{run.workers[i], run.ranks[i], 2, job::RankExit{.exit_code = 0}});
    }
    Feed(Tick{});
  }

  void Feed(const Event& event) {
    const std::optional<Place> head = Head();
    const Time start = head ? StartOf(specs_.at(head->second)) : std::nullopt;
    std::map<base::JobId, Run> placed;
    for (const Effect& effect : Step(state_, event, now_).effects) {
      const auto* rank = std::get_if<StartRank>(&effect);
      if (rank == nullptr) continue;
      placed[rank->key.job].ranks.push_back(rank->key);
      placed[rank->key.job].workers.push_back(rank->worker);
    }
    for (auto& [id, run] : placed) {
      Begin(id, run);
      if (head_ && PlaceOf(id) < *head_) reserved_.reset();  // it came with a higher priority
    }
    if (head && waiting_.contains(*head)) {
      for (const auto& [id, run] : placed) IsPassed(*head, start, id, run);
    }
    KeepsItsStart();
  }

  // The whole gang, on free devices; of an exclusive job on hosts of its own.
  void Begin(base::JobId id, Run& run) {
    const job::JobSpec& spec = specs_.at(id);
    ASSERT_EQ(static_cast<int64_t>(run.ranks.size()), spec.devices) << base::ToString(id);
    ASSERT_EQ(waiting_.erase(PlaceOf(id)), 1u) << base::ToString(id);
    const std::optional<int64_t> limit = spec.resources.time_limit_seconds;
    run.true_end =
        now_.steady + (1 + Below(static_cast<uint64_t>(limit.value_or(300)) - 1)) * kSecond;
    std::set<std::string> hosts;
    for (const std::string& worker : run.workers) hosts.insert(slots_.at(worker).host);
    for (auto& [name, slot] : slots_) {
      const bool is_rank = std::ranges::find(run.workers, name) != run.workers.end();
      if (!is_rank && !(spec.exclusive && hosts.contains(slot.host))) continue;
      ASSERT_EQ(slot.job, base::JobId()) << name << " is given to " << base::ToString(id);
      EXPECT_EQ(slot.leased_until, 0) << name << " is leased";
      slot.job = id;
      slot.latest_end = std::nullopt;
      if (limit) slot.latest_end = now_.steady + *limit * kSecond + state_.options.stop_grace_us;
    }
    running_[id] = run;
  }

  // A job got devices that the head could use: the head starts no later for that.
  void IsPassed(const Place& head, const Time& start, base::JobId id, const Run& run) {
    const job::JobSpec& spec = specs_.at(head.second);
    const std::set<std::string> models = Models(spec);
    const bool competes = std::ranges::any_of(run.workers, [&](const std::string& worker) {
      return std::ranges::any_of(slots_, [&](const auto& entry) {
        const bool counts = entry.first == worker ||
                            (spec.exclusive && entry.second.host == slots_.at(worker).host);
        return counts && models.contains(entry.second.model);
      });
    });
    if (!competes) return;
    ++passed_;
    const Time now = StartOf(spec);
    EXPECT_TRUE(start && now && *now <= *start)
        << base::ToString(id) << " delays " << base::ToString(head.second);
  }

  // The head starts by the time that was certain when it became the head.
  void KeepsItsStart() {
    const std::optional<Place> head = Head();
    if (head != head_) reserved_ = std::nullopt;
    head_ = head;
    if (!head) return;
    const Time start = StartOf(specs_.at(head->second));
    if (reserved_) {
      EXPECT_TRUE(start && *start <= *reserved_) << base::ToString(head->second);
      EXPECT_LE(now_.steady, *reserved_) << base::ToString(head->second) << " is late";
    } else {
      reserved_ = start;
    }
  }

  // Of those for which enough devices are under no lease.
  std::optional<Place> Head() const {
    const auto head = std::ranges::find_if(
        waiting_, [&](const Place& place) { return !Models(specs_.at(place.second)).empty(); });
    return head == waiting_.end() ? std::nullopt : std::optional(*head);
  }

  // Those of which the site has enough for the job, with those under a lease or without.
  std::set<std::string> Models(const job::JobSpec& spec, bool with_leased = false) const {
    std::map<std::string, int64_t> counts;
    for (const auto& [name, slot] : slots_)
      counts[slot.model] += with_leased || slot.leased_until == 0;
    std::set<std::string> models;
    for (const auto& [model, count] : counts) {
      const bool is_large = model == "H200" || spec.resources.constraints.empty();
      if (is_large && count >= spec.devices) models.insert(model);
    }
    return models;
  }

  Time FreeAt(const Slot& slot) const {
    if (slot.leased_until != 0) return slot.leased_until;
    return slot.job == base::JobId() ? Time(now_.steady) : slot.latest_end;
  }

  // When the job can start at the latest, if nothing more is placed before it.
  Time StartOf(const job::JobSpec& spec) const {
    Time first;
    for (const std::string& model : Models(spec)) {
      std::vector<int64_t> free;
      for (const auto& [name, slot] : slots_) {
        const Time at = spec.exclusive ? EmptyAt(slot.host) : FreeAt(slot);
        if (slot.model == model && at) free.push_back(*at);
      }
      std::ranges::sort(free);
      const auto count = static_cast<size_t>(spec.devices);
      if (free.size() >= count && (!first || free[count - 1] < *first)) first = free[count - 1];
    }
    return first;
  }

  Time EmptyAt(const std::string& host) const {
    int64_t at = now_.steady;
    for (const auto& [name, slot] : slots_) {
      if (slot.host != host) continue;
      const Time free = FreeAt(slot);
      if (!free) return std::nullopt;
      at = std::max(at, *free);
    }
    return at;
  }

  std::mt19937_64 random_;
  State state_;
  Now now_{1'000 * kSecond, 1'000 * kSecond};
  std::map<std::string, Slot> slots_;  // by worker
  std::map<base::JobId, job::JobSpec> specs_;
  std::set<Place> waiting_;
  std::map<base::JobId, Run> running_;
  std::optional<Place> head_;
  Time reserved_;
  int64_t passed_ = 0;
  int64_t leases_ = 0;
};

struct Seen {
  int64_t passed = 0;
  int64_t leases = 0;
};

void Simulate(uint64_t seed, Seen* seen) {
  SCOPED_TRACE("TRAINCTL_SEED=" + std::to_string(seed));
  Site site(seed);
  for (int event = 0; event < kEvents && !testing::Test::HasFailure(); ++event) site.Disturb();
  site.Settle();
  seen->passed += site.passed();
  seen->leases += site.leases();
}

TEST(Backfill, NeverDelaysTheHeadOfTheQueueAndStarvesNobody) {
  if (const char* seed = std::getenv("TRAINCTL_SEED")) {
    Seen one;
    Simulate(std::strtoull(seed, nullptr, 10), &one);
    return;
  }
  Seen seen;
  for (uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) Simulate(seed, &seen);
  EXPECT_GT(seen.passed, 2 * static_cast<int64_t>(kSeeds)) << "hardly a job passes another";
  EXPECT_GT(seen.leases, static_cast<int64_t>(kSeeds)) << "hardly a device is leased";
}

}  // namespace
}  // namespace trainctl::core
