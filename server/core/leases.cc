#include "server/core/leases.h"

#include <algorithm>
#include <ctime>
#include <functional>
#include <limits>

#include "common/base/size.h"
#include "common/base/utf8.h"
#include "common/job/lease_room.h"
#include "common/job/linked_gang.h"
#include "common/job/site.h"
#include "server/core/reach.h"
#include "server/core/run_length.h"

namespace trainctl::core {
namespace {

constexpr int64_t kSecondUs = 1'000'000;
constexpr int64_t kMinuteUs = 60 * kSecondUs;

base::SteadyMicros SteadyOf(base::WallMicros at, const Now& now) {
  return now.steady + (at - now.wall);
}

std::string DevicesText(int64_t count) {
  return std::to_string(count) + (count == 1 ? " device" : " devices");
}

// The next lease of each worker of the class, whose device is free: (start, device).
std::vector<std::pair<base::WallMicros, const Worker*>> LeasedAndFree(const State& state,
                                                                      placement::ClassId id) {
  std::vector<std::pair<base::WallMicros, const Worker*>> found;
  for (const auto& [name, leases] : state.leased) {
    const auto worker = state.workers.find(name);
    if (worker == state.workers.end() || leases.empty()) continue;
    const placement::FreeDevices::Entry& entry = state.free.entry(worker->second.device);
    if (entry.device_class == id && entry.free)
      found.emplace_back(leases.begin()->first, &worker->second);
  }
  return found;
}

// Only of an exclusive job it is asked which hosts the lease has whole.
job::LeaseRoom RoomOf(const State& state, const Lease& lease, bool exclusive) {
  const LeaseRow& row = lease.row;
  job::LeaseRoom room{.lease = LeaseText(row),
                      .is_ending = lease.closing,
                      .end = UtcText(row.end),
                      .devices = static_cast<int64_t>(row.workers.size())};
  if (!exclusive) return room;
  std::vector<job::LeasedOrNot> site;
  for (const auto& [name, worker] : state.workers)
    site.push_back({worker.row.host, std::ranges::count(row.workers, name) > 0});
  room.whole_host_devices = job::DevicesOfWholeHosts(site);
  return room;
}

std::vector<job::SiteDevice> LeasedDevices(const State& state, const LeaseRow& row) {
  std::vector<job::SiteDevice> devices;
  for (const std::string& name : row.workers) {
    const auto worker = state.workers.find(name);
    if (worker != state.workers.end()) devices.push_back(SiteDeviceOf(worker->second.row));
  }
  return devices;
}

// Why its devices will not do; empty: they will, or are not known any more.
std::string Unfit(const State& state, const LeaseRow& row, const job::JobSpec& spec) {
  int64_t known = 0, fit = 0;
  std::string reason, first;
  for (const std::string& name : row.workers) {
    const auto worker = state.workers.find(name);
    if (worker == state.workers.end()) continue;
    ++known;
    fit += job::MeetsConstraints(spec, SiteDeviceOf(worker->second.row), &reason);
    if (first.empty()) first = reason;
  }
  if (job::LinksAskedFor(spec) && known == static_cast<int64_t>(row.workers.size()) &&
      job::MostLinked(spec, LeasedDevices(state, row)) < spec.devices) {
    return LeaseText(row) + " has no " + DevicesText(spec.devices) +
           " that are linked as gpu.links " +
           spec.resources.constraints.at(std::string(job::kLinksKey)) + " asks";
  }
  if (first.empty() || known - fit <= static_cast<int64_t>(row.workers.size()) - spec.devices)
    return "";
  const std::string what = fit == 0
                               ? "no device of " + LeaseText(row) + " meets"
                               : "only " + DevicesText(fit) + " of " + LeaseText(row) + " meet";
  return what + " the job's constraints: " + first;
}

}  // namespace

std::string UtcText(base::WallMicros at) {
  const std::time_t seconds = at / kSecondUs;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[64];
  std::strftime(text, sizeof text, utc.tm_sec == 0 ? "%Y-%m-%d %H:%M UTC" : "%Y-%m-%d %H:%M:%S UTC",
                &utc);
  return text;
}

const Lease* FindLease(const State& state, const std::string& name) {
  for (const auto& [id, lease] : state.leases) {
    if (lease.row.name == name) return &lease;
  }
  return nullptr;
}

const Lease* FindLease(const State& state, int64_t id) {
  const auto found = state.leases.find(id);
  return found == state.leases.end() ? nullptr : &found->second;
}

std::vector<const Lease*> LeasesOn(const State& state, const std::string& target) {
  const auto is_there = [&](const std::string& name) {
    const auto worker = state.workers.find(name);
    return name == target || (worker != state.workers.end() && worker->second.row.host == target);
  };
  std::vector<const Lease*> leases;
  for (const auto& [id, lease] : state.leases) {
    if (std::ranges::any_of(lease.row.workers, is_there)) leases.push_back(&lease);
  }
  std::ranges::stable_sort(leases, {}, [](const Lease* lease) { return lease->row.start; });
  return leases;
}

std::string LeasedDeviceTrouble(const State& state, const std::string& name) {
  using enum job::WorkerState;
  const auto worker = state.workers.find(name);
  if (worker == state.workers.end()) return "removed";
  if (worker->second.lost) return std::string(job::Name(kLost));
  if (const FaultRow* fault = WorstFault(state, name))
    return std::string(job::Name(StateOf(*fault))) + ": " + FaultText(*fault);
  if (const DrainRow* drain = DrainOf(state, worker->second.row))
    return std::string(job::Name(kDrained)) + DrainText(*drain);
  return StateOf(state, worker->second) == kDirty ? std::string(job::Name(kDirty)) : "";
}

std::string LeaseText(const LeaseRow& row) { return job::LeaseText(row.name, row.user); }

std::string LeaseEndText(const LeaseRow& row) {
  return LeaseText(row) + " ends " + UtcText(row.end);
}

std::string LeaseStartText(const LeaseRow& row, const std::string& worker) {
  return LeaseText(row) + " has " + worker + " from " + UtcText(row.start) + " on";
}

base::WallMicros StopAt(const State& state, base::WallMicros at) {
  return at - state.options.lease_grace_us;
}

std::string StopText(const State& state, const job::JobSpec& spec, base::WallMicros at) {
  const std::string when = "is stopped " + UtcText(StopAt(state, at));
  if (spec.checkpoint.every_steps) return "it saves and " + when;
  return "it " + when + ", and what it did is lost, since it keeps no checkpoints";
}

std::string LeaseProblem(const State& state, const job::JobSpec& spec) {
  if (!spec.resources.lease) return "";
  const std::string& name = *spec.resources.lease;
  const Lease* lease = FindLease(state, name);
  if (lease == nullptr) {
    return "there is no lease '" + base::Excerpt(name, 128) +
           "', or it is over: trainctl lease ls lists them";
  }
  std::string none = job::NoRoom(RoomOf(state, *lease, spec.exclusive), spec);
  return none.empty() ? Unfit(state, lease->row, spec) : none;
}

bool IsOpen(const Lease& lease) { return lease.active && !lease.closing; }

std::string LeaseReason(const State& state, const Job& job, const Now& now) {
  const Lease* lease = FindLease(state, job.lease);
  if (lease == nullptr) return "its lease is over";
  if (lease->closing) return LeaseText(lease->row) + " is about to end";
  const int64_t minutes = std::max<int64_t>(0, lease->row.start - now.wall) / kMinuteUs;
  return "waits for " + LeaseText(lease->row) + ", which begins " + UtcText(lease->row.start) +
         " (in " + (minutes == 0 ? "less than a minute" : base::FormatDuration(minutes * 60)) + ")";
}

const Lease* ActiveLeaseOf(const State& state, const std::string& worker) {
  const Lease* next = NextLeaseOf(state, worker);
  return next != nullptr && next->active ? next : nullptr;
}

const Lease* NextLeaseOf(const State& state, const std::string& worker) {
  const auto leases = state.leased.find(worker);
  if (leases == state.leased.end() || leases->second.empty()) return nullptr;
  return &state.leases.at(leases->second.begin()->second);
}

int64_t LengthAmongLeases(const State& state, const Job& job, placement::ClassId id) {
  return LongestRunOn(state.options, job, state.free.pools()[id].device_class)
      .value_or(state.options.lease_clearance_us);
}

base::SteadyMicros ClearFrom(const State& state, const Worker& worker, base::SteadyMicros from,
                             int64_t length_us, const Now& now) {
  const auto leases = state.leased.find(worker.row.name);
  if (leases == state.leased.end()) return from;
  for (const auto& [start, id] : leases->second) {
    if (SteadyOf(start, now) - state.options.lease_grace_us - from >= length_us) break;
    from = std::max(from, SteadyOf(state.leases.at(id).row.end, now));
  }
  return from;
}

bool IsClear(const State& state, const Worker& worker, int64_t length_us, const Now& now) {
  return ClearFrom(state, worker, now.steady, length_us, now) == now.steady;
}

bool HasLeases(const State& state, placement::ClassId id) {
  const placement::FreeDevices::Pool& pool = state.free.pools()[id];
  return (pool.device_class.lease == 0 && pool.leased > 0) || HasLeasesAhead(state, id);
}

bool HasLeasesAhead(const State& state, placement::ClassId id) {
  if (state.free.pools()[id].device_class.lease != 0) return false;
  return std::ranges::any_of(state.leased, [&](const auto& entry) {
    const auto worker = state.workers.find(entry.first);
    return worker != state.workers.end() &&
           state.free.entry(worker->second.device).device_class == id;
  });
}

std::set<placement::DeviceId> BarredDevices(const State& state, placement::ClassId id,
                                            const Job& job, const Now& now) {
  std::set<placement::DeviceId> barred;
  if (state.leased.empty() || job.lease != 0) return barred;
  const int64_t length = LengthAmongLeases(state, job, id);
  for (const auto& [start, worker] : LeasedAndFree(state, id)) {
    if (!IsClear(state, *worker, length, now)) barred.insert(worker->device);
  }
  return barred;
}

int64_t RoomBeforeLeases(const State& state, placement::ClassId id, const Job& job,
                         const Now& now) {
  const placement::FreeDevices::Pool& pool = state.free.pools()[id];
  const int64_t devices = job.row.spec.devices;
  if (pool.free < devices) return 0;
  const int64_t free = FreeOf(state, job, id);
  if (free < devices) return 0;
  if (pool.device_class.lease != 0 || state.leased.empty()) return kAnyTime;
  auto leased = LeasedAndFree(state, id);
  std::erase_if(leased,
                [&](const auto& entry) { return !Reaches(state, job, entry.second->device); });
  const int64_t missing = devices - (free - static_cast<int64_t>(leased.size()));
  if (missing <= 0) return kAnyTime;
  std::ranges::sort(leased, std::greater<>());
  const base::WallMicros stops = leased[missing - 1].first - state.options.lease_grace_us;
  return std::max<int64_t>(0, stops - now.wall);
}

}  // namespace trainctl::core
