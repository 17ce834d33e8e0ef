#include "tests/server/sim_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "common/estimate/memory_estimate.h"
#include "server/core/handlers.h"
#include "server/core/lease_wish.h"
#include "tests/server/describe.h"
#include "tests/server/plain_schedule.h"

namespace trainctl::core {

SimCluster::SimCluster(uint64_t seed, Committed committed, Faults faults)
    : seed_(seed), faults_(faults), random_(seed), committed_(std::move(committed)) {
  const uint64_t hosts = 1 + random_() % 4;
  for (uint64_t host = 0; host < hosts; ++host) {
    const std::string name(1, static_cast<char>('a' + host));
    const std::string model = host == 3 ? "A100" : "H200";
    const auto devices = static_cast<int64_t>(1 + random_() % 4);
    if (model == "H200") largest_gang_ += devices;
    for (int64_t device = 0; device < devices; ++device)
      workers_.emplace_back(name + "/" + std::to_string(device), name, model, device);
  }
  for (SimWorker& worker : workers_) Connect(worker);
  state_.options.lease_warning_us = 20'000'000;
  state_.options.lease_grace_us = 6'000'000;
  state_.options.lease_clearance_us = 60'000'000;
  if (seed % 2 == 0) state_.options.policy.users["ann"].max_running_devices = 2;
  state_.options.policy.preempt_after_us = kMinRunTime;
  state_.options.preemption_grace_us = 5'000'000;
  if (seed % 4 < 2) state_.options.policy.half_life_us = 300'000'000;
  state_.options.slowness.steps = 2;
  plain_.options = state_.options;
  latest_wall_ = now_.wall;
}

void SimCluster::Disturb(int64_t step) {
  random_.seed(seed_ * 1'000'003 + static_cast<uint64_t>(step));
  slow_steps_ = std::max<int64_t>(0, slow_steps_ - 1);
  full_steps_ = std::max<int64_t>(0, full_steps_ - 1);
  lying_steps_ = std::max<int64_t>(0, lying_steps_ - 1);
  const uint64_t dice = random_() % 1000;
  if (dice < 400) return Deliver();
  if (dice < 750) return AdvanceRanks(true);
  if (dice < 850) return Second();
  if (dice < 860) return AWhile();
  if (dice < 900) return Submit();
  if (dice < 908) return Cancel();
  if (dice < 910) return Remove();
  if (dice < 914) return Drain();
  if (dice < 922) return MakeLease();
  if (dice < 925) return ChangeLease();
  if (dice < 960) return Connect(Any());
  Fault();
}

bool SimCluster::Settle() {
  slow_steps_ = full_steps_ = lying_steps_ = 0;
  while (!state_.leases.empty()) {
    const std::map<int64_t, LeaseRow> leases = ledger_.leases();
    for (const auto& [id, row] : leases) Feed(LeaseDeleted{id, "ops"});
    Second();
    for (SimWorker& worker : workers_) Connect(worker);
    for (int i = 0; i < 20; ++i) Deliver();
    AdvanceRanks(false);
  }
  while (!state_.drains.empty()) Feed(DevicesUndrained{state_.drains.begin()->first});
  for (const SimWorker& worker : workers_) {
    do {  // again where a kill lost it
      Feed(DevicesUndrained{worker.name()});
    } while (WorstFault(state_, worker.name()) != nullptr);
  }
  for (int round = 0; round < 20'000; ++round) {
    for (SimWorker& worker : workers_) Connect(worker);
    for (int i = 0; i < 20; ++i) Deliver();
    AdvanceRanks(false);
    Second();
    const bool all_quiet = std::all_of(workers_.begin(), workers_.end(), [](SimWorker& worker) {
      return worker.Running() == nullptr;
    });
    if (state_.jobs.empty() && all_quiet) return true;
  }
  return false;
}

// A deadline is told as of now: no stream stands still for long.
template <class Told>
Effect InTimeOf(const SimWorker& worker, Told told) {
  if constexpr (requires { told.deadline; }) {
    if (told.deadline) told.deadline->in_us += worker.own_time_us();
  }
  return told;
}

// As the shell does: commit, then perform. A kill before the commit loses the event, one after it
// the effects. Events that come while the disk is slow share the next commit.
void SimCluster::Feed(const Event& event) {
  const Actions actions = Step(state_, event, now_);
  const Actions plain = StepWith(plain_, event, now_, PlainSchedule);
  ASSERT_EQ(Describe(actions), Describe(plain)) << "a scheduler that looks at each job differs";
  CheckStep(actions);
  stepped_.Apply(actions.persist);
  held_rows_.insert(held_rows_.end(), actions.persist.begin(), actions.persist.end());
  held_effects_.insert(held_effects_.end(), actions.effects.begin(), actions.effects.end());
  knows_time_ |= std::holds_alternative<Tick>(event);
  if (random_() % 400 == 0) return RestartCoordinator();
  if (slow_steps_ > 0 && Chance(random_, 80)) return;
  Commit();
}

// A disk that refuses: the coordinator loads what is stored, and all streams end.
void SimCluster::Commit() {
  if (full_steps_ > 0 && !held_rows_.empty()) return RestartCoordinator();
  const std::vector<Persist> rows = std::exchange(held_rows_, {});
  const std::vector<Effect> effects = std::exchange(held_effects_, {});
  if (lying_steps_ == 0) {
    unsynced_.clear();
  } else {
    if (unsynced_.empty()) synced_ = ledger_;
    unsynced_.push_back(rows);
  }
  ledger_.Apply(rows);
  if (committed_) committed_(rows);
  for (const Persist& row : rows) {
    if (const auto* job = std::get_if<JobRow>(&row)) accepted_.insert(job->id);
  }
  if (random_() % 400 == 0) return RestartCoordinator();
  Perform(effects);
}

void SimCluster::Perform(const std::vector<Effect>& effects) {
  for (const Effect& effect : effects) {
    const auto* inspect = std::get_if<InspectJob>(&effect);
    if (inspect != nullptr && !Named(inspect->worker).joined())
      NobodyLooks(Named(inspect->worker), inspect->job);
    if (const auto* start = std::get_if<StartRank>(&effect)) NoJobRunsTwice(*start);
    std::visit(
        [&](const auto& value) {
          if constexpr (requires { value.worker; }) {
            SimWorker& worker = Named(value.worker);
            if (worker.joined()) worker.to_worker.push_back(InTimeOf(worker, value));
            if (inspect != nullptr && worker.joined()) worker.asked.insert(inspect->job);
          }
        },
        effect);
  }
}

void SimCluster::RestartCoordinator() {
  for (SimWorker& worker : workers_) {
    worker.Disconnect();
    worker.asked.clear();
  }
  not_looked_.clear();
  cut_.clear();
  late_.clear();
  held_rows_.clear();
  held_effects_.clear();
  now_.steady = 7'000'000;
  knows_time_ = false;
  stepped_ = ledger_;
  state_ = Restore(state_.options, ledger_.LoadState(), now_);
  plain_ = Restore(state_.options, ledger_.LoadState(), now_);
}

// Of the commits that the disk has not kept, though it said so, the first are there.
void SimCluster::LosePower() {
  const size_t kept = unsynced_.empty() ? 0 : random_() % (unsynced_.size() + 1);
  if (kept < unsynced_.size()) {
    const Ledger before = std::exchange(ledger_, synced_);
    for (size_t i = 0; i < kept; ++i) ledger_.Apply(unsynced_[i]);
    ForgetWhatIsLost(before);
  }
  unsynced_.clear();
  lying_steps_ = 0;
  RestartCoordinator();
}

void SimCluster::ForgetWhatIsLost(const Ledger& before) {
  ++losses_;
  for (const auto& [key, attempt] : before.attempts()) {
    if (!ledger_.attempts().contains(key)) lost_attempts_.insert(key);
  }
  std::erase_if(accepted_, [&](base::JobId id) { return !ledger_.jobs().contains(id); });
  std::erase_if(succeeded_ranks_,
                [&](const auto& entry) { return !ledger_.attempts().contains(entry.first); });
}

void SimCluster::Submit() {
  JobsSubmitted event{"r" + std::to_string(++requests_), Chance(random_, 20) ? "lab" : "", {}};
  const uint64_t copies = event.group_name.empty() ? 1 : 2 + random_() % 3;
  for (uint64_t i = 0; i < copies; ++i) {
    job::JobSpec spec;
    spec.model.path = spec.data.path = "/data";
    spec.train.micro_batch_size = 1;
    spec.devices = Chance(random_, 60)
                       ? 1
                       : 1 + static_cast<int64_t>(random_() % static_cast<uint64_t>(largest_gang_));
    spec.exclusive = Chance(random_, 15);
    spec.resources.priority = static_cast<int64_t>(random_() % 3) * 25;
    spec.resources.preemptible = Chance(random_, 60);
    spec.resources.max_restarts = static_cast<int64_t>(random_() % 3);
    spec.resources.step_timeout_seconds = 30;
    if (Chance(random_, 20)) spec.resources.time_limit_seconds = 40;
    if (Chance(random_, 15)) MakeFollow(&spec);
    if (Chance(random_, 30)) Constrain(&spec);
    if (!state_.leases.empty() && Chance(random_, 30)) {
      auto lease = state_.leases.begin();
      std::advance(lease, random_() % state_.leases.size());
      spec.resources.lease = lease->second.row.name;
      if (Chance(random_, 70)) spec.devices = 1;
    }
    const bool micro_batch_auto = Chance(random_, 15);
    if (micro_batch_auto) spec.train.micro_batch_size = kAutoMicroBatch;
    const bool is_inspected = micro_batch_auto || Chance(random_, 50);
    const auto inspection =
        is_inspected ? std::optional<job::Inspection>(job::Inspection()) : std::nullopt;
    event.jobs.push_back({spec, inspection, std::nullopt, micro_batch_auto});
  }
  event.force = Chance(random_, 20);
  event.user = Chance(random_, 50) ? "ann" : "bob";
  if (!event.group_name.empty() && Chance(random_, 50))
    event.max_parallel = 1 + static_cast<int64_t>(random_() % 2);
  Feed(event);
}

// Of those that have not ended: the shell looks after the others.
void SimCluster::MakeFollow(job::JobSpec* spec) {
  for (const auto& [id, job] : state_.jobs) {
    if (Chance(random_, 30))
      spec->resources.after[base::ToString(id)] =
          Chance(random_, 50) ? job::After::kOk : job::After::kAny;
  }
}

// To hosts or racks that can hold it, as a submit sees to.
void SimCluster::Constrain(job::JobSpec* spec) {
  static constexpr std::array<std::pair<const char*, const char*>, 6> kConstraints = {
      {{"host", "=a"},
       {"host", "=a,b"},
       {"host", "!=a"},
       {"label.rack", "=r1"},
       {"label.rack", "!=r1"},
       {"label.rack", "=r0,r1"}}};
  const auto& [key, text] = kConstraints[random_() % kConstraints.size()];
  spec->resources.constraints[key] = text;
  std::map<std::string, int64_t> devices;
  std::string reason;
  for (const SimWorker& worker : workers_) {
    const WorkerRow row = worker.Hello().worker;
    if (job::MeetsConstraints(*spec, SiteDeviceOf(row), &reason)) ++devices[row.device.name];
  }
  int64_t most = 0;
  for (const auto& [model, count] : devices) most = std::max(most, count);
  if (most == 0) return spec->resources.constraints.clear();
  spec->devices = std::min(spec->devices, most);
}

void SimCluster::Remove() {
  const SimWorker& worker = Any();
  if (!worker.connected()) Feed(WorkerRemoved{worker.name()});
}

// A device or a host, or the end of that.
void SimCluster::Drain() {
  const SimWorker& worker = Any();
  if (Chance(random_, 20)) return BreakDown(worker);
  const std::string target = Chance(random_, 50) ? worker.name() : worker.name().substr(0, 1);
  if (Chance(random_, 60)) return Feed(DevicesUndrained{target});
  Feed(DevicesDrained{target, "ops", "to be mended"});
}

// Its driver tells of faults, or of none any more.
void SimCluster::BreakDown(const SimWorker& worker) {
  std::vector<job::DeviceFault> faults;
  for (const int64_t xid : {31, 79, 94}) {
    if (Chance(random_, 30)) faults.push_back({xid, now_.wall});
  }
  if (worker.connected()) Feed(DeviceFaultsTold{worker.name(), faults});
}

void SimCluster::MakeLease() {
  constexpr int64_t kSecond = 1'000'000;
  const LeaseWish wish{.devices = 1 + static_cast<int64_t>(random_() % 3),
                       .start = now_.wall + static_cast<int64_t>(random_() % 200) * kSecond,
                       .length_us = (120 + static_cast<int64_t>(random_() % 200)) * kSecond};
  const auto row = NewLease(state_, wish, "", now_);
  if (row) Feed(LeaseMade{*row});
}

// Longer, or over.
void SimCluster::ChangeLease() {
  if (state_.leases.empty()) return;
  const Lease& lease = state_.leases.begin()->second;
  if (Chance(random_, 50)) return Feed(LeaseDeleted{lease.row.id, "ann"});
  const auto end = LaterEnd(state_, lease, 60'000'000);
  if (end) Feed(LeaseExtended{lease.row.id, *end});
}

void SimCluster::Cancel() {
  if (!accepted_.empty())
    Feed(CancelRequested{
        {1 + static_cast<int64_t>(random_() % static_cast<uint64_t>(accepted_.rbegin()->value))}});
}

void SimCluster::Fault() {
  SimWorker& worker = Any();
  const uint64_t kind = random_() % (faults_ == Faults::kAll ? 16 : 13);
  if (kind < 5 && worker.connected()) {
    Cut(worker);
  } else if (kind < 8) {
    if (SimRank* rank = worker.Running()) worker.Kill(*rank, random_);
  } else if (kind < 9) {
    const bool was_connected = worker.connected();
    const bool is_noticed = faults_ == Faults::kFirst || Chance(random_, 50);
    if (was_connected && !is_noticed) KeepOnItsWay(worker);
    worker.Reboot();
    if (was_connected && is_noticed) Lose(worker);
  } else if (kind < 10) {
    RestartCoordinator();
  } else if (kind < 12) {
    DisturbDisk();
  } else if (kind < 13) {
    JumpClock();
  } else if (kind < 14) {
    LosePower();
  } else {
    lying_steps_ = 1 + static_cast<int64_t>(random_() % 40);
  }
}

// Its stream is gone. The coordinator hears of it now, or once it misses its heartbeats.
void SimCluster::Cut(SimWorker& worker) {
  const bool may_be_late = faults_ == Faults::kAll;
  if (may_be_late) KeepOnItsWay(worker);
  worker.Disconnect();
  if (Chance(random_, 50)) return Lose(worker);
  cut_.insert(worker.name());
}

// The first part of what its stream carries arrives, until its end is noticed or a new one begins.
void SimCluster::KeepOnItsWay(SimWorker& worker) {
  cut_.insert(worker.name());
  const size_t kept = random_() % (worker.to_coordinator.size() + 1);
  std::deque<Event>& late = late_[worker.name()];
  for (size_t i = 0; i < kept; ++i) late.push_back(worker.to_coordinator[i]);
}

void SimCluster::NoticeCuts() {
  for (SimWorker& worker : workers_) {
    if (cut_.contains(worker.name()) && Chance(random_, 10)) Lose(worker);
  }
}

void SimCluster::DisturbDisk() {
  int64_t& steps = Chance(random_, 50) ? slow_steps_ : full_steps_;
  steps = 1 + static_cast<int64_t>(random_() % 10);
}

void SimCluster::JumpClock() {
  constexpr int64_t kFarthest = 900'000'000;
  if (Chance(random_, 80)) return;
  clock_jumped_ = true;
  knows_time_ = false;
  now_.wall += static_cast<int64_t>(random_() % (2 * kFarthest)) - kFarthest;
  latest_wall_ = std::max(latest_wall_, now_.wall);
  Feed(Tick{});
}

void SimCluster::Deliver() {
  SimWorker& worker = Any();
  if (faults_ == Faults::kFirst) {
    DeliverToWorker(worker);
    return DeliverToCoordinator(worker);
  }
  const uint64_t which = random_() % 4;  // one, the other, or both
  if (which != 0) DeliverToWorker(worker);
  if (which != 1 && !DeliverLate(worker)) DeliverToCoordinator(worker);
}

// What is said may be said twice, but for the Hello that begins a stream.
void SimCluster::DeliverToWorker(SimWorker& worker) {
  if (worker.to_worker.empty()) return;
  const Effect effect = worker.to_worker.front();
  worker.to_worker.pop_front();
  worker.Receive(effect, now_.steady / 1'000'000, random_);
  if (Chance(random_, 3)) worker.Receive(effect, now_.steady / 1'000'000, random_);
}

void SimCluster::DeliverToCoordinator(SimWorker& worker) {
  if (worker.to_coordinator.empty()) return;
  const Event event = worker.to_coordinator.front();
  worker.to_coordinator.pop_front();
  const bool is_hello = std::holds_alternative<WorkerHello>(event);
  if (is_hello) worker.Join();
  if (is_hello && faults_ == Faults::kAll) TakePlaceOfOlder(worker);
  if (const auto* inspected = std::get_if<JobInspected>(&event)) worker.asked.erase(inspected->job);
  Feed(event);
  if (worker.connected() && Chance(random_, 3) && !is_hello) Feed(event);
}

// Where something of a stream that is gone arrives. What answers it goes nowhere.
bool SimCluster::DeliverLate(SimWorker& worker) {
  const auto late = late_.find(worker.name());
  if (late == late_.end() || late->second.empty() || worker.joined() || Chance(random_, 30))
    return false;
  ++late_events_;
  const Event event = late->second.front();
  late->second.pop_front();
  if (const auto* inspected = std::get_if<JobInspected>(&event)) worker.asked.erase(inspected->job);
  Feed(event);
  return true;
}

void SimCluster::AdvanceRanks(bool with_faults) {
  for (SimWorker& worker : workers_) {
    SimRank* rank = worker.Running();
    worker.Advance(now_.steady / 1'000'000, rank == nullptr || PeersAlive(*rank), with_faults,
                   random_);
    if (rank != nullptr && rank->succeeded)
      succeeded_ranks_[{rank->key.job, rank->key.attempt}].insert(rank->key.rank);
  }
}

void SimCluster::Second() {
  now_.wall += 1'000'000;
  now_.steady += 1'000'000;
  latest_wall_ = std::max(latest_wall_, now_.wall);
  for (SimWorker& worker : workers_) worker.Second(random_);
  NothingOutlivesItsLease();
  NoticeCuts();
  for (const JobInspected& event : std::exchange(not_looked_, {})) Feed(event);
  Feed(Tick{});
}

void SimCluster::NobodyLooks(const SimWorker& worker, base::JobId job) {
  not_looked_.push_back({job, worker.name(), base::Error{base::Code::kUnavailable, "no worker"}});
}

void SimCluster::Lose(SimWorker& worker) {
  TakePlaceOfOlder(worker);
  Feed(WorkerStreamLost{worker.name()});
}

void SimCluster::AWhile() {
  for (uint64_t seconds = random_() % 200; seconds > 0; --seconds) Second();
}

void SimCluster::Connect(SimWorker& worker) {
  if (worker.connected()) return;
  if (faults_ == Faults::kFirst) TakePlaceOfOlder(worker);
  worker.Connect();
}

// A stream that is new is in place of one that nobody noticed is gone.
void SimCluster::TakePlaceOfOlder(SimWorker& worker) {
  cut_.erase(worker.name());
  late_.erase(worker.name());
  for (const base::JobId job : std::exchange(worker.asked, {})) NobodyLooks(worker, job);
}

// All ranks of its attempt run, or have done their work.
bool SimCluster::PeersAlive(const SimRank& rank) {
  std::set<int64_t> alive = succeeded_ranks_[{rank.key.job, rank.key.attempt}];
  for (SimWorker& worker : workers_) {
    const SimRank* peer = worker.Running();
    if (peer != nullptr && peer->key.job == rank.key.job && peer->key.attempt == rank.key.attempt)
      alive.insert(peer->key.rank);
  }
  return static_cast<int64_t>(alive.size()) == rank.world_size;
}

SimWorker& SimCluster::Named(const std::string& name) {
  return *std::find_if(workers_.begin(), workers_.end(),
                       [&](const SimWorker& worker) { return worker.name() == name; });
}

}  // namespace trainctl::core
