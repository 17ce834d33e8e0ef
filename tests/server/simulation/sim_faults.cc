// What goes wrong in the simulated cluster, but for its ranks (sim_worker.h).
#include <algorithm>
#include <utility>

#include "tests/server/simulation/sim_cluster.h"

namespace trainctl::core {

void SimCluster::LosePower() {
  const Ledger before = ledger();
  if (store_.LosePower()) ForgetWhatIsLost(before);
  lying_steps_ = 0;
  RestartCoordinator();
}

// It fails as jobs begin: the disk has lost them or their attempts, and workers have ranks of them.
// Somebody submits, before these say so or behind it. Of few seeds: less can be held against the
// others.
void SimCluster::LoseWhatIsNew() {
  constexpr uint64_t kSeedsPerLosing = 5;
  if (setting_.keeps_power || seed_ % kSeedsPerLosing != 0) return;
  store_.is_lying = true;
  Submit();
  for (uint64_t rounds = random_() % 10; rounds > 0; --rounds) {
    DeliverAll();
    AdvanceRanks(false);
  }
  DeliverAll();
  LosePower();
  if (Chance(random_, 50)) {
    for (SimWorker& worker : workers_) Connect(worker);
    DeliverAll();
  }
  Submit();
}

// A coordinator that starts looks for logs that may go. The disk may be full before it has stored
// that they do.
void SimCluster::LookForOldLogs() {
  if (!options_.policy.logs_after_us) return;
  RestartCoordinator();
  Second();
  store_.is_full = Chance(random_, 50);
  Second();
  store_.is_full = full_steps_ > 0;
  Second();
}

void SimCluster::ForgetWhatIsLost(const Ledger& before) {
  ++losses_;
  commits_.Forget({ledger().LoadState().next_job});
  for (const auto& [key, attempt] : before.attempts()) {
    if (!ledger().attempts().contains(key)) lost_attempts_.insert(key);
  }
  std::set<base::JobId>& ended = kept_ends_.emplace_back();
  for (const auto& [id, job] : ledger().jobs()) {
    if (job.status.state == job::JobState::kFinished) ended.insert(id);
  }
  for (const auto& [key, points] : before.points()) {
    const auto kept = ledger().points().find(key);
    if (kept == ledger().points().end() || kept->second.size() < points.size())
      lost_points_.insert(key);
  }
  std::erase_if(accepted_, [&](base::JobId id) { return !ledger().jobs().contains(id); });
  std::erase_if(answers_,
                [&](const auto& answer) { return !ledger().submissions().contains(answer.first); });
  std::erase_if(succeeded_ranks_,
                [&](const auto& entry) { return !ledger().attempts().contains(entry.first); });
}

void SimCluster::Fault() {
  SimWorker& worker = Any();
  const uint64_t kind = random_() % 19;
  if (kind < 5) {
    Cut(worker);
  } else if (kind < 8) {
    if (SimRank* rank = worker.Running()) worker.Kill(*rank, random_);
  } else if (kind < 9) {
    Reboot(worker);
  } else if (kind < 10) {
    StopCoordinator();
  } else if (kind < 12) {
    DisturbDisk();
  } else if (kind < 13) {
    JumpClock();
  } else if (kind < 14) {
    if (!setting_.keeps_power) LosePower();
  } else if (kind < 16) {
    lying_steps_ = 1 + static_cast<int64_t>(random_() % 40);
  } else if (kind < 17) {
    RestartWorker(worker);
  } else if (kind < 18) {
    CutHost(worker.host());
  } else {
    CutMany();
  }
}

// Its stream is gone. The coordinator hears of it now, or once it misses its heartbeats.
void SimCluster::Cut(SimWorker& worker) {
  const std::shared_ptr<SimStream> stream = worker.stream();
  if (stream == nullptr) return;
  LoseSomeOnItsWay(*stream);
  worker.Disconnect();
  if (Chance(random_, 50)) Leave(stream);
}

// A host's network is gone.
void SimCluster::CutHost(const std::string& host) {
  for (SimWorker& worker : workers_) {
    if (worker.host() == host) Cut(worker);
  }
}

// So it is for a moment, in which somebody makes a lease, or changes one. Its ranks run on, or end,
// and others may take its devices. A stream may be cut as it begins: its Hello may arrive behind
// its successor's.
void SimCluster::Blink() {
  const std::string host = Any().host();
  for (SimWorker& worker : workers_) {
    if (worker.host() == host && worker.Running() == nullptr) worker.SayItsWord();
  }
  CutHost(host);
  Chance(random_, 50) ? MakeLease() : ChangeLease();
  Second();
  const bool twice = Chance(random_, 50);
  for (SimWorker& worker : workers_) {
    if (worker.host() != host) continue;
    if (Chance(random_, 20)) {
      SimRank* rank = worker.Running();
      rank != nullptr ? worker.Kill(*rank, random_) : worker.BeTaken();
    }
    Connect(worker);
    if (twice) Cut(worker);
    Connect(worker);
    DeliverAllOf(worker);
  }
  Second();
}

// A switch is.
void SimCluster::CutMany() {
  for (SimWorker& worker : workers_) {
    if (Chance(random_, 50)) Cut(worker);
  }
}

void SimCluster::Reboot(SimWorker& worker) {
  Cut(worker);
  worker.Reboot();
}

// Its process dies, and its ranks go on. The next one says again what was not acknowledged.
void SimCluster::RestartWorker(SimWorker& worker) {
  Cut(worker);
  worker.BeginAnew();
}

// The first part of what its stream carries arrives, until its end is noticed.
void SimCluster::LoseSomeOnItsWay(SimStream& stream) {
  stream.to_coordinator.resize(random_() % (stream.to_coordinator.size() + 1));
}

void SimCluster::NoticeCuts() {
  std::vector<std::shared_ptr<SimStream>> noticed;
  for (const std::shared_ptr<SimStream>& stream : streams_) {
    if (stream->is_cut && Chance(random_, 10)) noticed.push_back(stream);
  }
  for (const std::shared_ptr<SimStream>& stream : noticed) Leave(stream);
}

void SimCluster::DisturbDisk() {
  int64_t& steps = Chance(random_, 50) ? slow_steps_ : full_steps_;
  steps = 1 + static_cast<int64_t>(random_() % 10);
}

void SimCluster::JumpClock() {
  constexpr int64_t kFarthest = 900'000'000;
  if (Chance(random_, 80)) return;
  clock_jumped_ = clock_is_news_ = true;
  clock_.wall += static_cast<int64_t>(random_() % (2 * kFarthest)) - kFarthest;
  latest_wall_ = std::max(latest_wall_, clock_.wall);
}

// Killed, or with the time to say so; the next one may have another policy.
void SimCluster::StopCoordinator() {
  if (Chance(random_, 50)) Ask([](coordinator::Coordinator& shell) { shell.Finish(); });
  if (Chance(random_, 30)) ChangePolicy();
  RestartCoordinator();
}

}  // namespace trainctl::core
