#include "server/core/choice.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "common/job/held_devices.h"
#include "server/core/held.h"
#include "server/core/leases.h"
#include "server/core/linked_gangs.h"
#include "server/core/reach.h"
#include "server/core/waiting.h"
#include "server/placement/pack.h"
#include "server/placement/placement.h"

namespace trainctl::core {
namespace {

using placement::ClassId;
using placement::DeviceId;
using placement::FreeDevices;

class Choice {
 public:
  Choice(const State& state, const Holds& holds, const Job& job, const Now& now,
         const std::set<base::JobId>& gone)
      : state_(state), holds_(holds), job_(job), now_(now), gone_(gone) {}

  std::vector<DeviceId> Choose() {
    if (job_.retry.pause_until) return {};
    const std::vector<FreeDevices::Pool>& pools = state_.free.pools();
    std::vector<ClassId> usable = UsableClasses(state_, job_);
    std::ranges::sort(usable, [&](ClassId left, ClassId right) {
      return placement::Prefer(pools[left].device_class, pools[right].device_class);
    });
    std::vector<DeviceId> best;
    std::optional<Order> least;
    for (const ClassId id : usable) {
      std::vector<DeviceId> devices = ChooseOf(id);
      if (devices.empty()) continue;
      if (IsBeyondComparison(devices)) return devices;
      const Order order = OrderOf(id, devices);
      if (least && *least <= order) continue;
      least = order;
      best = std::move(devices);
    }
    return best;
  }

 private:
  // Devices that a quota counts, no GPUs, hosts, and how far apart on those: less is better.
  using Order = std::tuple<int64_t, bool, int64_t, int64_t>;

  Order OrderOf(ClassId id, const std::vector<DeviceId>& devices) const {
    const placement::Nearness near = placement::NearnessOf(state_.free, devices);
    const job::DeviceKind kind = state_.free.pools()[id].device_class.kind;
    return {CountsWholeHosts() ? HeldWith(state_, job_, devices) : 0,
            kind != job::DeviceKind::kCuda, near.hosts, -near.closeness};
  }

  // Without a look at the other classes, which are no better for a single device.
  bool IsBeyondComparison(const std::vector<DeviceId>& devices) const {
    return devices.size() == 1 && !CountsWholeHosts();
  }

  // Against its owner's quota, which hosts of another class may be too large for.
  bool CountsWholeHosts() const { return job_.row.spec.exclusive && !job_.demand.user.empty(); }

  std::vector<DeviceId> ChooseOf(ClassId id) {
    const FreeDevices::Pool& pool = state_.free.pools()[id];
    const int64_t count = job_.row.spec.devices;
    if (gone_.empty() && (pool.free < count || FreeOf(state_, job_, id) < count)) return {};
    if (!holds_.Yields(id, job_)) return {};
    if (gone_.empty() && IsAllOpen(id)) return Pick(pool);
    const auto is_open = [&](DeviceId device) { return IsOpen(device); };
    if (gone_.empty()) return PickHosts(pool.Where(is_open));
    return PickHosts(state_.free.PoolWith(id, LeftBehind(id)).Where(is_open));
  }

  // An exclusive job gets the hosts with which it holds the fewest devices.
  std::vector<DeviceId> PickHosts(const FreeDevices::Pool& pool) const {
    std::vector<DeviceId> devices = Pick(pool);
    if (!job_.row.spec.exclusive || devices.empty()) return devices;
    std::vector<job::WholeHost> hosts;
    std::vector<std::string> names;
    for (const auto& [host, free] : pool.hosts) {
      hosts.push_back({std::ssize(free), std::ssize(state_.hosts.at(host))});
      names.push_back(host);
    }
    const auto fewest = job::FewestDevices(hosts, job_.row.spec.devices);
    if (!fewest || HeldWith(state_, job_, devices) <= fewest->devices) return devices;
    std::set<std::string> wanted;
    for (const size_t host : fewest->hosts) wanted.insert(names[host]);
    std::vector<DeviceId> fewer = Pick(pool.Where(
        [&](DeviceId device) { return wanted.contains(state_.free.entry(device).host); }));
    return fewer.empty() ? devices : fewer;  // links may not be there
  }

  std::vector<DeviceId> Pick(const FreeDevices::Pool& pool) const {
    const int64_t count = job_.row.spec.devices;
    const std::optional<job::Constraint>& links = LinksOf(job_);
    return links ? placement::PackLinked(state_.free, pool, count, *links)
                 : placement::Policies().front().choose(state_.free, pool, count);
  }

  bool IsAllOpen(ClassId id) const {
    const bool has_leases = job_.lease == 0 && HasLeasesAhead(state_, id);
    return !job_.row.spec.exclusive && !has_leases && !holds_.HasParts(id) &&
           ReachOf(state_, job_) == nullptr;
  }

  bool IsOpen(DeviceId device) {
    if (!Reaches(state_, job_, device) || holds_.Bars(device, job_)) return false;
    if (job_.row.spec.exclusive) return IsHostOpen(state_.free.entry(device).host);
    return LeavesLeasesAlone(*state_.devices[device]);
  }

  // Whether it is the job's lease's, or nobody's until the job ends.
  bool LeavesLeasesAlone(const Worker& worker) const {
    const ClassId id = state_.free.entry(worker.device).device_class;
    if (state_.free.pools()[id].device_class.lease != job_.lease) return false;
    return job_.lease != 0 || IsClear(state_, worker, LengthAmongLeases(state_, job_, id), now_);
  }

  // Of an exclusive job. A host with a device that an earlier job holds is its only if it ends in
  // time.
  bool IsHostOpen(const std::string& host) {
    const auto [known, is_new] = hosts_.try_emplace(host, false);
    if (!is_new) return known->second;
    known->second = std::ranges::all_of(state_.hosts.at(host), [&](const Worker* worker) {
      return LeavesEmpty(*worker) && LeavesLeasesAlone(*worker) &&
             holds_.Yields(state_.free.entry(worker->device).device_class, job_) &&
             !holds_.Bars(worker->device, job_);
    });
    return known->second;
  }

  bool LeavesEmpty(const Worker& worker) const {
    if (LeavesHostEmpty(worker)) return true;
    return worker.connected && worker.strays.empty() && worker.holder &&
           gone_.contains(worker.holder->job);
  }

  // Devices of the class that those who are gone leave behind.
  std::vector<DeviceId> LeftBehind(ClassId id) const {
    std::vector<DeviceId> devices;
    const auto add = [&](const Worker& worker) {
      const FreeDevices::Entry& entry = state_.free.entry(worker.device);
      const bool is_there = worker.connected && worker.strays.empty() && !entry.drained;
      if (entry.device_class == id && is_there && !entry.free) devices.push_back(worker.device);
    };
    for (const base::JobId gone : gone_) {
      const Job& left = *state_.live.at(gone);
      std::set<std::string> hosts;
      for (const Rank& rank : left.attempt->ranks) {
        const Worker& worker = state_.workers.at(rank.row.worker);
        const bool has_it = worker.holder && worker.holder->job == gone;  // not given back before
        if (has_it) add(worker);
        hosts.insert(worker.row.host);
      }
      for (const std::string& host : left.row.spec.exclusive ? hosts : std::set<std::string>()) {
        for (const Worker* worker : state_.hosts.at(host)) {
          if (!worker->holder && worker->word == DeviceWord::kFree) add(*worker);
        }
      }
    }
    return devices;
  }

  const State& state_;
  const Holds& holds_;
  const Job& job_;
  const Now& now_;
  const std::set<base::JobId>& gone_;
  std::map<std::string, bool> hosts_;  // whether they are open to an exclusive job
};

}  // namespace

std::vector<DeviceId> ChooseDevices(const State& state, const Holds& holds, const Job& job,
                                    const Now& now, const std::set<base::JobId>& gone) {
  return Choice(state, holds, job, now, gone).Choose();
}

}  // namespace trainctl::core
