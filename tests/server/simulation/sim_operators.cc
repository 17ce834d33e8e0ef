// Leases, and what operators do with workers and with the site.
#include <algorithm>
#include <iterator>

#include "server/core/faults.h"
#include "server/core/lease_wish.h"
#include "server/core/loan.h"
#include "tests/server/simulation/people.h"
#include "tests/server/simulation/sim_cluster.h"

namespace trainctl::core {

namespace {

constexpr int64_t kSecond = 1'000'000;

}  // namespace

void SimCluster::MakeLease() {
  const LeaseWish wish{.devices = 1 + static_cast<int64_t>(random_() % 3),
                       .start = clock_.wall + static_cast<int64_t>(random_() % 200) * kSecond,
                       .length_us = (120 + static_cast<int64_t>(random_() % 200)) * kSecond};
  const std::string user = Chance(random_, 50) ? "ann" : "bob";
  Ask([wish, user, name = "r" + std::to_string(++names_)](coordinator::Coordinator& shell) {
    shell.CreateLease({name, "", wish}, Person(user), Ignored());
  });
}

// Longer, or over.
void SimCluster::ChangeLease() {
  if (state().leases.empty()) return;
  const LeaseRow& lease = state().leases.begin()->second.row;
  Ask([name = lease.name, user = lease.user,
       is_over = Chance(random_, 50)](coordinator::Coordinator& shell) {
    if (is_over) return shell.DeleteLease(name, Person(user), Ignored());
    shell.ExtendLease(name, {60 * kSecond}, Person(user), Ignored());
  });
}

void SimCluster::EndLeases() {
  while (!state().leases.empty()) {
    std::vector<std::string> names;
    for (const auto& [id, lease] : state().leases) names.push_back(lease.row.name);
    for (const std::string& name : names) {
      Ask([name](coordinator::Coordinator& shell) {
        shell.DeleteLease(name, Operator(), Ignored());
      });
    }
    Second();
    for (SimWorker& worker : workers_) Connect(worker);
    for (int64_t i = 0; i < 20 * Crowd(); ++i) Deliver();
    AdvanceRanks(false);
  }
}

void SimCluster::RemoveWorker() {
  const SimWorker& worker = Any();
  if (worker.connected()) return;
  Ask([name = worker.name()](coordinator::Coordinator& shell) {
    shell.RemoveWorker(name, Operator(), Ignored());
  });
}

// A device or a host, or the end of that.
void SimCluster::Drain() {
  SimWorker& worker = Any();
  if (Chance(random_, 20)) return BreakDown(worker);
  const std::string target = Chance(random_, 50) ? worker.name() : worker.host();
  const bool is_over = Chance(random_, 60), with_faults = Chance(random_, 50);
  Ask([target, is_over, with_faults](coordinator::Coordinator& shell) {
    if (is_over) return shell.UndrainDevices({target, with_faults}, Operator(), Ignored());
    shell.DrainDevices(target, "to be mended", Operator(), Ignored());
  });
}

// Again where a kill lost it.
void SimCluster::Undrain() {
  const auto is_kept_out = [this] {
    return !state().drains.empty() || std::ranges::any_of(workers_, [&](const SimWorker& worker) {
      return WorstFault(state(), worker.name()) != nullptr;
    });
  };
  while (is_kept_out()) {
    std::set<std::string> targets;
    for (const auto& [target, drain] : state().drains) targets.insert(target);
    for (const SimWorker& worker : workers_) targets.insert(worker.host());
    for (const std::string& target : targets) {
      Ask([target](coordinator::Coordinator& shell) {
        shell.UndrainDevices({target, true}, Operator(), Ignored());
      });
    }
    Second();
  }
}

// Its driver tells of faults, or of none any more.
void SimCluster::BreakDown(SimWorker& worker) {
  DeviceFaultsTold told{worker.name(), {}};
  for (const int64_t xid : {31, 79, 94}) {
    if (Chance(random_, 30)) told.faults.push_back({xid, clock_.wall});
  }
  worker.Say(told);
}

// The operator has switched it off: their word is true. Of one that is not LOST it is refused.
void SimCluster::Fence() {
  std::vector<std::string> lost;
  for (const auto& [name, worker] : state().workers) {
    if (worker.lost && worker.holder) lost.push_back(name);
  }
  SimWorker& worker = lost.empty() ? Any() : Named(lost[random_() % lost.size()]);
  Reboot(worker);
  Ask([this, name = worker.name()](coordinator::Coordinator& shell) {
    shell.Fence(name, Operator(), [this](const base::Status& fenced) { fenced_ += fenced.ok(); });
  });
}

// A host's streams end, and it may not come again before it has another certificate.
void SimCluster::Revoke() {
  if (!revoked_.empty() && Chance(random_, 70)) return revoked_.clear();
  const std::string host = Any().host();
  revoked_.insert(host);
  for (SimWorker& worker : workers_) {
    const std::shared_ptr<SimStream> stream = worker.stream();
    if (worker.host() != host || stream == nullptr) continue;
    worker.Disconnect();
    Leave(stream);
  }
}

// The devices are lent to the site for a time; that time ends; the next one begins.
void SimCluster::Lend() {
  const bool is_closing = IsClosing(state(), now());
  if (options_.lent_until && !is_closing) {
    loans_ += !state().live.empty();
    options_.lent_until = std::min(*options_.lent_until, clock_.wall);
    return Ask([](coordinator::Coordinator& shell) { shell.EndLoan(); });
  }
  options_.lent_until.reset();
  const bool is_lent_again = !is_closing || Chance(random_, 50);
  if (is_lent_again)
    options_.lent_until = clock_.wall + static_cast<int64_t>(60 + random_() % 400) * kSecond;
  RestartCoordinator();
}

// For the next coordinator.
void SimCluster::ChangePolicy() {
  is_of_another_policy_ = true;
  std::optional<int64_t>& most = options_.policy.users["ann"].max_running_devices;
  most.reset();
  if (Chance(random_, 60)) most = 1 + static_cast<int64_t>(random_() % 4);
  options_.policy.half_life_us.reset();
  if (Chance(random_, 50)) options_.policy.half_life_us = 300 * kSecond;
}

}  // namespace trainctl::core
