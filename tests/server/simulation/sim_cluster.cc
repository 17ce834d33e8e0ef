#include "tests/server/simulation/sim_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "server/core/fair_share.h"
#include "server/core/handlers.h"
#include "server/core/quota.h"
#include "tests/server/describe.h"
#include "tests/server/simulation/kept_away.h"
#include "tests/server/simulation/people.h"
#include "tests/server/simulation/plain_schedule.h"

namespace trainctl::core {

SimCluster::SimCluster(uint64_t seed, Setting setting)
    : seed_(seed), setting_(std::move(setting)), random_(seed) {
  const bool is_large = size() == Size::kLarge;
  const uint64_t hosts = is_large ? 40 + random_() % 20 : 1 + random_() % 4;
  for (uint64_t host = 0; host < hosts; ++host)
    AddHost(host, static_cast<int64_t>(is_large ? 4 + random_() % 5 : 1 + random_() % 4));
  options_.boot_id = "boot-1";
  options_.lease_warning_us = 20'000'000;
  options_.lease_grace_us = 6'000'000;
  options_.lease_clearance_us = 60'000'000;
  options_.stop_grace_us = 4'000'000;
  if (seed % 2 == 0)
    options_.policy.users["ann"].max_running_devices = is_large ? largest_gang_ / 4 : 2;
  options_.policy.preempt_after_us = kMinRunTime;
  options_.preemption_grace_us = 5'000'000;
  if (seed % 4 < 2) options_.policy.half_life_us = 300'000'000;
  if (seed % 3 == 0) options_.policy.logs_after_us = 20'000'000;
  options_.slowness.steps = 2;
  latest_wall_ = clock_.wall;
  store_.committed = [this](const store::Batch& batch) { Committed(batch); };
  store_.loaded = [this](const StoredState& stored) { Loaded(stored); };
  StartCoordinator();
  for (SimWorker& worker : workers_) {
    worker.BeginAnew();
    Connect(worker);
  }
}

void SimCluster::AddHost(uint64_t host, int64_t devices) {
  const auto letter = [](uint64_t of) { return std::string(1, static_cast<char>('a' + of % 26)); };
  const std::string name = letter(host) + (host < 26 ? "" : letter(host / 26));  // no job's id
  const std::string model = host % 8 == 3 ? "A100" : "H200";
  if (model == "H200") largest_gang_ += devices;
  for (int64_t device = 0; device < devices; ++device)
    workers_.emplace_back(name + "/" + std::to_string(device), name, model, device);
}

// To how many workers a step happens.
int64_t SimCluster::Crowd() const {
  return size() == Size::kSmall ? 1 : static_cast<int64_t>(workers_.size()) / 8;
}

void SimCluster::Disturb(int64_t step) {
  random_.seed(seed_ * 1'000'003 + static_cast<uint64_t>(step));
  slow_steps_ = std::max<int64_t>(0, slow_steps_ - 1);
  full_steps_ = std::max<int64_t>(0, full_steps_ - 1);
  lying_steps_ = std::max<int64_t>(0, lying_steps_ - 1);
  store_.is_full = full_steps_ > 0;
  store_.is_lying = lying_steps_ > 0;
  const uint64_t dice = random_() % 1000;
  const int64_t crowd = Crowd();
  if (dice < 400) {
    for (int64_t i = 0; i < crowd; ++i) Deliver();
    return;
  }
  if (dice < 732) return AdvanceRanks(true);
  if (dice < 737) return LoseWhatIsNew();
  if (dice < 740) return LookForOldLogs();
  if (dice < 840) return Second();
  if (dice < 850) return AWhile();
  if (dice < 890) {
    for (int64_t i = 0; i < crowd; i += 8) Submit();
    return;
  }
  if (dice < 894) return AskAgain();
  if (dice < 902) return Cancel();
  if (dice < 905) return RemoveJobs();
  if (dice < 908) return RemoveOutputs();
  if (dice < 910) return RemoveWorker();
  if (dice < 914) return Drain();
  if (dice < 922) return MakeLease();
  if (dice < 925) return ChangeLease();
  if (dice < 928) return Fence();
  if (dice < 930) return Revoke();
  if (dice < 932) return Lend();
  if (dice < 936) return Blink();
  if (dice < 944) return RemoveOutputs();
  if (dice >= 960) return Fault();
  for (int64_t i = 0; i < crowd; ++i) Connect(Any());
}

void SimCluster::Calm() {
  slow_steps_ = full_steps_ = lying_steps_ = 0;
  store_.is_full = store_.is_lying = false;
  revoked_.clear();
  if (options_.lent_until || is_of_another_policy_) {
    options_.lent_until.reset();
    options_.policy.users.clear();
    RestartCoordinator();
  }
  EndLeases();
  Undrain();
}

void SimCluster::Press() {
  constexpr int64_t kMostQueued = 12, kSecondsPerGang = 60;
  store_.may_kill = false;
  if (++pressed_ % kSecondsPerGang == 10) SubmitOne("bob", largest_gang_, 25, std::nullopt);
  for (SimWorker& worker : workers_) Connect(worker);
  DeliverAll();
  AdvanceRanks(false);
  for (int i = 0; i < 2 && state().queue.size() < kMostQueued; ++i)
    SubmitOne(Chance(random_, 50) ? "ann" : "bob", 1, 0, 5 + static_cast<int64_t>(random_() % 40));
  Second();
}

// The site has grown since an exclusive job came: its hosts have more than its owner's quota now.
void SimCluster::CancelWhatNeverStarts() {
  std::vector<base::JobId> exceeding;
  for (const auto& [id, job] : state().jobs) {
    const bool may_be_cancelled = !job.attempt && !job.status.cancel_requested;
    if (may_be_cancelled && ExceedsQuota(state(), job)) exceeding.push_back(id);
  }
  if (exceeding.empty()) return;
  Ask([exceeding](coordinator::Coordinator& shell) {
    shell.Cancel(exceeding, Operator(), Ignored());
  });
}

bool SimCluster::Settle() {
  if (pressed_ == 0) Calm();
  store_.may_kill = true;
  for (int round = 0; round < 20'000; ++round) {
    for (SimWorker& worker : workers_) Connect(worker);
    if (round % 1'000 == 999) Undrain();  // a fault may have been told since it was calm
    CancelWhatNeverStarts();
    for (int64_t i = 0; i < 20 * Crowd(); ++i) Deliver();
    AdvanceRanks(false);
    Second();
    const bool all_stored = std::ranges::all_of(ledger().jobs(), [](const auto& entry) {
      return entry.second.status.state == job::JobState::kFinished;
    });
    const bool all_quiet = std::ranges::all_of(
        workers_, [](SimWorker& worker) { return worker.Running() == nullptr; });
    if (state().jobs.empty() && all_stored && all_quiet) return true;
  }
  return false;
}

void SimCluster::NobodyIsOverlooked() {
  const bool somebody_waits = plain_.queue.size() > 0 || !plain_.uninspected.empty();
  if (size() != Size::kSmall || is_stale() || !has_ticked() || !somebody_waits) return;
  if (plain_.look_again) return;  // at the next tick
  const Now at = now();
  Turn turn{.state = plain_, .now = at};
  turn.may_preempt = true;
  PlainSchedule(turn);
  ASSERT_FALSE(LiftWhoStarves(plain_)) << "somebody starves, and does not go first";
  ASSERT_TRUE(turn.actions.persist.empty() && turn.actions.effects.empty())
      << "somebody could start, and nobody looked:\n"
      << Describe(turn.actions);
}

void SimCluster::StartCoordinator() {
  coordinator_ =
      std::make_unique<SimCoordinator>(clock_, store_, logs_.path(), options_,
                                       [this](State& state, const Event& event, const Now& at) {
                                         return StepAndCheck(state, event, at);
                                       });
  const base::Status started = coordinator_->shell().Start();
  ASSERT_TRUE(started.ok()) << started.error().message;
}

// All streams end, and what was on its way. In another boot of its host time is counted anew.
void SimCluster::RestartCoordinator() {
  for (SimWorker& worker : workers_) worker.Disconnect();
  streams_.clear();
  if (Chance(random_, 30)) {
    options_.boot_id += "+";
    clock_.steady = 7'000'000 + clock_.steady % 1'000'000;
  }
  StartCoordinator();
}

void SimCluster::Work() {
  if (slow_steps_ == 0 || !Chance(random_, 80)) WorkAtOnce();
}

void SimCluster::WorkAtOnce() {
  try {
    coordinator_->loop().Run();
    if (Chance(random_, 70)) coordinator_->Read();
    coordinator_->loop().Run();
  } catch (const Killed&) {
    RestartCoordinator();
  }
  DropEnded();
}

void SimCluster::Ask(std::function<void(coordinator::Coordinator&)> work) {
  coordinator_->loop().Post([this, work = std::move(work)] { work(coordinator_->shell()); });
  Work();
}

namespace {

bool IsOfLeases(const Event& event) {
  return std::holds_alternative<LeaseMade>(event) || std::holds_alternative<LeaseExtended>(event) ||
         std::holds_alternative<LeaseDeleted>(event);
}

}  // namespace

Actions SimCluster::StepAndCheck(State& state, const Event& event, const Now& at) {
  if (to_restore_) RestorePlain(state);
  const bool is_tick = std::holds_alternative<Tick>(event);
  const FailedOn failed_on = is_tick ? WhereTheyMayNotGo(state, stepped_) : FailedOn();
  device_words_.Note(state, event);
  Actions actions = Step(state, event, at);
  TheyKeepAway(state, failed_on);
  if (setting_.on_step) setting_.on_step(event, actions);
  if (size() == Size::kSmall) StepPlain(state, event, at, actions);
  CheckStep(actions);
  stepped_.Apply(actions.persist);
  if (is_tick) {
    ticked_at_ = at;
    clock_is_news_ = leases_are_news_ = false;
  } else if (IsOfLeases(event)) {
    leases_are_news_ = true;
  }
  return actions;
}

void SimCluster::Loaded(const StoredState& stored) {
  stepped_ = ledger();
  device_words_.Clear();
  to_restore_ = stored;
  loaded_at_ = now();
  ticked_at_.reset();
  clock_is_news_ = leases_are_news_ = false;
}

// As the coordinator has done it, which gives no number of a job again that has logs.
void SimCluster::RestorePlain(const State& state) {
  StoredState stored = *std::exchange(to_restore_, std::nullopt);
  if (size() != Size::kSmall) return;
  stored.gaps = state.gaps;
  stored.next_job = state.next_job;
  plain_ = Restore(state.options, std::move(stored), loaded_at_);
}

void SimCluster::StepPlain(const State& state, const Event& event, const Now& at,
                           const Actions& actions) {
  plain_.options.lent_until = state.options.lent_until;
  const Actions plain = StepWith(plain_, event, at, PlainSchedule);
  ASSERT_EQ(Describe(actions), Describe(plain)) << "a scheduler that looks at each job differs";
}

void SimCluster::Committed(const store::Batch& batch) {
  if (setting_.committed) setting_.committed(batch);
  commits_.Check(batch);
  for (const store::LogsRemovedRow& row : batch.logs_removed) old_logs_ += row.any;
  for (const Persist& row : batch.rows) {
    const auto* removed = std::get_if<RemoveJob>(&row);
    if (removed == nullptr) continue;
    removed_ += 1;
    accepted_.erase(removed->job);
  }
}

void SimCluster::Connect(SimWorker& worker) {
  if (worker.connected() || revoked_.contains(worker.host())) return;
  const auto on_send = [this](const std::string& name, coordinator::WorkerCommand* command) {
    Sent(name, command);
  };
  streams_.push_back(std::make_shared<SimStream>(worker.name(), on_send));
  worker.Connect(streams_.back());
}

void SimCluster::Deliver() {
  SimWorker& worker = Any();
  const uint64_t which = random_() % 4;  // one, the other, or both
  if (which != 0) DeliverToWorker(worker);
  if (which != 1 && !DeliverLate(worker)) DeliverToCoordinator(worker);
}

// Whatever is on its way.
void SimCluster::DeliverAll() {
  for (SimWorker& worker : workers_) DeliverAllOf(worker);
}

void SimCluster::DeliverAllOf(SimWorker& worker) {
  for (int i = 0; i < 100 && worker.connected(); ++i) {
    const SimStream& stream = *worker.stream();
    if (stream.to_worker.empty() && stream.to_coordinator.empty()) break;
    DeliverToWorker(worker);
    DeliverToCoordinator(worker);
  }
}

// What is said may be said twice, but for the Hello that begins a stream.
void SimCluster::DeliverToWorker(SimWorker& worker) {
  if (!worker.connected() || worker.stream()->to_worker.empty()) return;
  const coordinator::WorkerCommand command = std::move(worker.stream()->to_worker.front());
  worker.stream()->to_worker.pop_front();
  worker.Receive(command, random_);
  if (Chance(random_, 3)) worker.Receive(command, random_);
}

void SimCluster::DeliverToCoordinator(SimWorker& worker) {
  const std::shared_ptr<SimStream> stream = worker.stream();
  if (stream == nullptr || stream->to_coordinator.empty()) return;
  const WorkerWord word = std::move(stream->to_coordinator.front());
  stream->to_coordinator.pop_front();
  Tell(stream, word);
  if (Chance(random_, 3) && !std::holds_alternative<WorkerHello>(word)) Tell(stream, word);
}

// Where something of a stream that is gone arrives, before its successor's Hello or behind it.
bool SimCluster::DeliverLate(SimWorker& worker) {
  const auto late = std::ranges::find_if(streams_, [&](const std::shared_ptr<SimStream>& stream) {
    return stream->is_cut && stream->worker() == worker.name() && !stream->to_coordinator.empty();
  });
  if (late == streams_.end() || Chance(random_, 30)) return false;
  ++late_words_;
  const std::shared_ptr<SimStream> stream = *late;
  const WorkerWord word = std::move(stream->to_coordinator.front());
  stream->to_coordinator.pop_front();
  Tell(stream, word);
  return true;
}

namespace {

// As the server does, of what arrives on the worker's stream.
struct Teller {
  coordinator::Coordinator& shell;
  SimStream& stream;

  void operator()(const WorkerHello& hello) const { shell.WorkerJoined(stream, hello); }
  void operator()(const RankReported& report) const { shell.WorkerReported(stream, report); }
  void operator()(const DeviceStateChanged& change) const {
    shell.WorkerDeviceChanged(stream, change);
  }
  void operator()(const DeviceFaultsTold& told) const { shell.WorkerToldFaults(stream, told); }
  void operator()(const InspectionTold& told) const {
    shell.WorkerInspected(stream, stream.worker(), told.request_id, told.inspection);
  }
  void operator()(const LogTold& told) const {
    shell.WorkerLogged(stream, stream.worker(), {told.key, told.offset, told.offset, told.data});
  }
  void operator()(const RemovalTold& told) const {
    shell.WorkerRemovedOutputs(stream, stream.worker(), told.request_id, {.files = 1}, told.error);
  }
};

// A deadline is told as of now: no stream stands still for long.
template <class Told>
void TellInTimeOf(const SimWorker& worker, Told* told) {
  if (told->deadline) told->deadline->in_us += worker.own_time_us();
}

}  // namespace

void SimCluster::Tell(const std::shared_ptr<SimStream>& stream, const WorkerWord& word) {
  Ask([stream, word](coordinator::Coordinator& shell) {
    if (!stream->is_ended) std::visit(Teller{shell, *stream}, word);
  });
}

void SimCluster::Sent(const std::string& name, coordinator::WorkerCommand* command) {
  constexpr uint64_t kCommandsOfOne = 2000;
  if (random_() % kCommandsOfOne == 0 && store_.may_kill) throw Killed();
  SimWorker& worker = Named(name);
  if (auto* start = std::get_if<StartRank>(command)) {
    NoJobRunsTwice(*start);
    WhatIsStartedIsStored(*start);
    started_[{start->key.job, start->key.attempt}].insert(&worker);
    TellInTimeOf(worker, start);
  }
  if (auto* keep = std::get_if<KeepDeadline>(command)) TellInTimeOf(worker, keep);
  if (const auto* stop = std::get_if<StopRank>(command)) WhoIsStoppedIsToEnd(*stop);
  if (const auto* ask = std::get_if<coordinator::AskOutputs>(command)) {
    ++outputs_asked_;
    WhatIsRemovedIsOver(ask->question);
  }
}

// The coordinator notices the stream's end.
void SimCluster::Leave(const std::shared_ptr<SimStream>& stream) {
  streams_.remove(stream);
  Ask([stream](coordinator::Coordinator& shell) { shell.WorkerLeft(*stream, stream->worker()); });
}

// Streams that the coordinator has ended.
void SimCluster::DropEnded() {
  for (SimWorker& worker : workers_) {
    if (worker.connected() && worker.stream()->is_ended) worker.Disconnect();
  }
  streams_.remove_if([](const std::shared_ptr<SimStream>& stream) { return stream->is_ended; });
}

// Of streams that are up: more than half of the time one arrives.
void SimCluster::BeatHearts() {
  std::vector<std::shared_ptr<SimStream>> heard;
  for (const std::shared_ptr<SimStream>& stream : streams_) {
    if (!stream->is_cut && Chance(random_, 60)) heard.push_back(stream);
  }
  coordinator_->loop().Post([this, heard = std::move(heard)] {
    for (const std::shared_ptr<SimStream>& stream : heard)
      coordinator_->shell().WorkerSampled(*stream, stream->worker(), {}, {});
  });
}

void SimCluster::AdvanceRanks(bool with_faults) {
  for (SimWorker& worker : workers_) {
    SimRank* rank = worker.Running();
    worker.Advance(rank == nullptr || PeersAlive(*rank), with_faults, random_);
    if (rank != nullptr && rank->succeeded)
      succeeded_ranks_[{rank->key.job, rank->key.attempt}].insert(rank->key.rank);
  }
}

// The coordinator works a few times meanwhile, and once more at its end.
void SimCluster::Second() {
  constexpr int64_t kParts = 5, kMicros = 1'000'000 / kParts;
  for (int64_t part = 1; part <= kParts; ++part) {
    clock_.wall += kMicros;
    clock_.steady += kMicros;
    latest_wall_ = std::max(latest_wall_, clock_.wall);
    if (part < kParts) Work();
  }
  for (SimWorker& worker : workers_) worker.Second(random_);
  NothingOutlivesItsLease();
  NoticeCuts();
  BeatHearts();
  WorkAtOnce();
}

void SimCluster::AWhile() {
  for (uint64_t seconds = random_() % 200; seconds > 0; --seconds) Second();
}

// All ranks of its attempt run, or have done their work.
bool SimCluster::PeersAlive(const SimRank& rank) {
  std::set<int64_t> alive = succeeded_ranks_[{rank.key.job, rank.key.attempt}];
  for (SimWorker* worker : started_[{rank.key.job, rank.key.attempt}]) {
    const SimRank* peer = worker->Running();
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
