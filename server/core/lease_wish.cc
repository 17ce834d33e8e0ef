#include "server/core/lease_wish.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "common/base/size.h"
#include "common/base/utf8.h"
#include "common/job/constraint.h"
#include "server/placement/pack.h"
#include "server/placement/placement.h"

namespace trainctl::core {
namespace {

constexpr int64_t kWholeMinute = 60'000'000;
constexpr size_t kMaxLeaseName = 63;

std::string Count(int64_t devices) {
  return std::to_string(devices) + (devices == 1 ? " device" : " devices");
}

base::Error InvalidLease(std::string message) { return {base::Code::kInvalid, std::move(message)}; }

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

base::Status CheckLeaseName(const State& state, const std::string& name) {
  if (name.empty()) return base::Ok{};
  const bool is_name = name.size() <= kMaxLeaseName && std::ranges::all_of(name, IsNameByte) &&
                       name.front() != '-' && name.front() != '.' && !name.starts_with("lease-") &&
                       !base::ParseDuration(name);  // which submit --within takes for a time
  if (!is_name) {
    return InvalidLease("'" + base::Excerpt(name, 256) +
                        "' is no name for a lease: expected up to 63 letters, digits, '_', '.' and "
                        "'-', not beginning with 'lease-', '-' or '.', and no time such as 3h");
  }
  if (FindLease(state, name) == nullptr) return base::Ok{};
  return base::Error{base::Code::kConflict,
                     LeaseText(FindLease(state, name)->row) + " is not over: choose another name"};
}

// Beyond a year nobody's is longer, whatever the policy says.
int64_t LongestLeaseUs(const State& state, const std::string& user) {
  const auto seconds = state.options.policy.Of(user).max_lease_seconds;
  return std::min(kFarthestLeaseUs, seconds ? *seconds * 1'000'000 : kFarthestLeaseUs);
}

base::Status CheckLength(const State& state, const std::string& user, int64_t length_us) {
  const int64_t longest = LongestLeaseUs(state, user);
  if (length_us >= kShortestLeaseUs && length_us <= longest) return base::Ok{};
  const auto text = [](int64_t micros) { return base::FormatDuration(micros / 1'000'000); };
  return InvalidLease("a lease of " + text(std::max<int64_t>(0, length_us)) + ": expected from " +
                      text(kShortestLeaseUs) + " to " + text(longest) +
                      ", the longest that this site's policy grants");
}

// What is asked at all, whatever the site is.
base::Status CheckWish(const State& state, const LeaseWish& wish, const Now& now) {
  if (base::Status length = CheckLength(state, wish.user, wish.length_us); !length) return length;
  if (wish.devices < 1)
    return InvalidLease("a lease of " + Count(wish.devices) + ": expected at least 1");
  if (wish.start != 0 && wish.start < now.wall - kWholeMinute) {
    return InvalidLease("a lease from " + UtcText(std::max<int64_t>(0, wish.start)) +
                        ": that has passed, it is " + UtcText(now.wall));
  }
  if (wish.start > now.wall + kFarthestLeaseUs)
    return InvalidLease("a lease from " + UtcText(now.wall + kFarthestLeaseUs) +
                        " or later: expected a start within a year");
  return base::Ok{};
}

bool IsWished(const LeaseWish& wish, const Worker& worker) {
  if (!wish.host.empty() && worker.row.host != wish.host) return false;
  return job::IsInModel(wish.model, worker.row.device.name);
}

// Without the lease that it may be under.
placement::DeviceClass PlainClass(const State& state, const Worker& worker) {
  placement::DeviceClass plain =
      state.free.pools()[state.free.entry(worker.device).device_class].device_class;
  plain.lease = 0;
  return plain;
}

using ByClass = std::map<placement::DeviceClass, std::vector<const Worker*>>;

// By class, those of which there are enough.
base::Result<ByClass> WishedWorkers(const State& state, const LeaseWish& wish) {
  ByClass classes;
  size_t most = 0;
  for (const auto& [name, worker] : state.workers) {
    if (!IsWished(wish, worker)) continue;
    std::vector<const Worker*>& alike = classes[PlainClass(state, worker)];
    alike.push_back(&worker);
    most = std::max(most, alike.size());
  }
  std::erase_if(classes, [&](const auto& entry) {
    return static_cast<int64_t>(entry.second.size()) < wish.devices;
  });
  if (!classes.empty()) return classes;
  std::string what = "a lease of " + Count(wish.devices) + ": the site has " +
                     (most == 0 ? "none" : std::to_string(most) + " of one model");
  if (!wish.host.empty()) what += ", on host '" + base::Excerpt(wish.host, 256) + "'";
  if (!wish.model.empty()) what += ", of model '" + base::Excerpt(wish.model, 256) + "'";
  return InvalidLease(what + "; trainctl workers lists them");
}

// The first lease that has the worker at a time between these, or null. A worker's leases do not
// overlap: the later one begins, the later it ends.
const Lease* LeaseBetween(const State& state, const std::string& worker, base::WallMicros start,
                          base::WallMicros end, int64_t but = 0) {
  const auto leases = state.leased.find(worker);
  if (leases == state.leased.end()) return nullptr;
  const auto& by_start = leases->second;
  const Lease* first = nullptr;
  for (auto next = by_start.lower_bound(end); next != by_start.begin();) {
    const Lease& lease = state.leases.at((--next)->second);
    if (lease.row.end <= start) break;
    if (lease.row.id != but) first = &lease;
  }
  return first;
}

// What keeps the worker from being promised from `start` on, but for leases; nullopt: nothing. Who
// is on it is told lease_warning before, so what begins sooner takes what is free.
std::optional<job::WorkerState> WhyNotReady(const State& state, const Worker& worker,
                                            base::WallMicros start, const Now& now) {
  using enum job::WorkerState;
  if (worker.lost) return kLost;
  if (DrainOf(state, worker.row) != nullptr) return kDrained;
  const FaultRow* fault = WorstFault(state, worker.row.name);
  if (fault != nullptr && job::ClassOf(fault->fault.xid) == job::FaultClass::kBad)
    return StateOf(*fault);  // a SUSPECT one may be clean by then
  if (start - now.wall >= state.options.lease_warning_us) return std::nullopt;
  const std::optional<base::JobId> holder = HolderOf(state, worker);
  if (holder && FindJob(state, *holder)->lease != 0)
    return std::nullopt;  // that ends before this one begins
  switch (const job::WorkerState is = StateOf(state, worker)) {
    case kReady:
    case kLeased: return std::nullopt;
    case kBusy:
    case kLost:
    case kBad:
    case kSuspect:
    case kDirty:
    case kDrained: return is;
  }
  return std::nullopt;
}

// What one host has for a lease, lowest indices first.
struct HostDevices {
  std::vector<placement::DeviceId> idle;
  std::vector<placement::DeviceId> held;  // jobs have them now

  int64_t size() const { return static_cast<int64_t>(idle.size() + held.size()); }
  int64_t HeldOf(int64_t count) const {
    return std::max<int64_t>(0, count - static_cast<int64_t>(idle.size()));
  }
};

// Those that nobody has now come first, then those closest to each other.
placement::Group TakeOf(const State& state, const HostDevices& host, int64_t count) {
  const auto held = static_cast<size_t>(host.HeldOf(count));
  placement::Group taken =
      placement::Closest(state.free, host.idle, static_cast<size_t>(count) - held);
  const placement::Group rest = placement::Closest(state.free, host.held, held);
  taken.devices.insert(taken.devices.end(), rest.devices.begin(), rest.devices.end());
  taken.closeness += rest.closeness;
  return taken;
}

// Of one host where one has enough: where jobs have the fewest, then where they are linked best,
// then the fullest such. Else of the hosts with most.
std::vector<placement::DeviceId> PackLease(const State& state, std::vector<const Worker*> eligible,
                                           int64_t devices) {
  std::ranges::sort(eligible, {}, [](const Worker* worker) { return worker->row.device.index; });
  std::map<std::string, HostDevices> hosts;
  for (const Worker* worker : eligible) {
    HostDevices& host = hosts[worker->row.host];
    (HolderOf(state, *worker) ? host.held : host.idle).push_back(worker->device);
  }
  using Rank = std::tuple<bool, int64_t, int64_t, int64_t, int64_t, std::string>;
  std::map<Rank, const HostDevices*> order;
  for (const auto& [name, host] : hosts) {
    const bool is_whole = host.size() >= devices;
    const int64_t held = host.HeldOf(std::min(devices, host.size()));
    order[is_whole
              ? Rank(false, held, -TakeOf(state, host, devices).closeness, host.size(), 0, name)
              : Rank(true, 0, 0, -host.size(), held, name)] = &host;
  }
  std::vector<placement::DeviceId> taken;
  for (const auto& [rank, host] : order) {
    const int64_t missing = devices - std::ssize(taken);
    const placement::Group some = TakeOf(state, *host, std::min(missing, host->size()));
    taken.insert(taken.end(), some.devices.begin(), some.devices.end());
  }
  return taken;
}

// No GPUs, devices that jobs have now, hosts, and how far apart on those: less is better.
using LeaseOrder = std::tuple<bool, int64_t, int64_t, int64_t>;

LeaseOrder OrderOf(const State& state, const std::vector<placement::DeviceId>& devices) {
  const Worker& first = *state.devices[devices.front()];
  const placement::Nearness near = placement::NearnessOf(state.free, devices);
  const int64_t held = std::ranges::count_if(devices, [&](placement::DeviceId device) {
    return HolderOf(state, *state.devices[device]).has_value();
  });
  return {first.row.device.kind != job::DeviceKind::kCuda, held, near.hosts, -near.closeness};
}

std::vector<std::string> NamesOf(const State& state,
                                 const std::vector<placement::DeviceId>& devices) {
  std::vector<std::string> names;
  for (const placement::DeviceId device : devices) names.push_back(state.devices[device]->row.name);
  std::ranges::sort(names);
  return names;
}

// Of these workers those that can be had from `start` on. *reasons, unless null: who has the
// others.
std::vector<const Worker*> FreeThen(const State& state, const std::vector<const Worker*>& workers,
                                    const LeaseWish& wish, base::WallMicros start, const Now& now,
                                    std::set<std::string>* reasons) {
  std::vector<const Worker*> eligible;
  for (const Worker* worker : workers) {
    const std::optional<job::WorkerState> not_ready = WhyNotReady(state, *worker, start, now);
    const Lease* other = LeaseBetween(state, worker->row.name, start, start + wish.length_us);
    if (!not_ready && other == nullptr) {
      eligible.push_back(worker);
    } else if (reasons == nullptr) {
      continue;
    } else if (other != nullptr) {
      reasons->insert(LeaseText(other->row) + " (" + UtcText(other->row.start) + " to " +
                      UtcText(other->row.end) + ")");
    } else {
      reasons->insert(worker->row.name + " is " + std::string(Name(*not_ready)));
    }
  }
  return eligible;
}

// "only 2 of the 4 devices", of a wish for 4.
std::string TooFewText(size_t most, int64_t wished) {
  if (most > 0) return "only " + std::to_string(most) + " of the " + Count(wished);
  return wished == 1 ? "no device" : "none of the " + Count(wished);
}

// How many of the devices can be had at most, and who has the others.
std::string WhyTooFew(size_t most, int64_t wished, const std::set<std::string>& reasons) {
  constexpr size_t kMostReasons = 4;
  std::string why = TooFewText(most, wished) + " can be had";
  size_t said = 0;
  for (const std::string& reason : reasons) {
    why += (said == 0 ? ": " : "; ") + (said == kMostReasons ? std::string("…") : reason);
    if (said++ == kMostReasons) break;
  }
  return why;
}

// The devices for a lease from `start` on, of the class that has the best; empty: too few.
std::vector<std::string> DevicesFrom(const State& state, const ByClass& classes,
                                     const LeaseWish& wish, base::WallMicros start, const Now& now,
                                     std::string* why = nullptr) {
  std::vector<const ByClass::value_type*> order;
  for (const auto& alike : classes) order.push_back(&alike);
  std::ranges::sort(order, [](const auto* left, const auto* right) {
    return placement::Prefer(left->first, right->first);
  });
  size_t most = 0;
  std::set<std::string> reasons;
  std::vector<placement::DeviceId> best;
  for (const auto* alike : order) {
    const std::vector<const Worker*> eligible =
        FreeThen(state, alike->second, wish, start, now, why == nullptr ? nullptr : &reasons);
    most = std::max(most, eligible.size());
    if (std::ssize(eligible) < wish.devices) continue;
    std::vector<placement::DeviceId> devices = PackLease(state, eligible, wish.devices);
    if (best.empty() || OrderOf(state, devices) < OrderOf(state, best)) best = std::move(devices);
  }
  if (best.empty() && why != nullptr) *why = WhyTooFew(most, wish.devices, reasons);
  return NamesOf(state, best);
}

bool Overlaps(const LeaseRow& row, base::WallMicros start, base::WallMicros end) {
  return row.start < end && start < row.end;
}

// So many more devices, or an own lease that lasts longer, leave the user within the quota. A sum
// over leases is largest where one of them begins.
base::Status CheckQuota(const State& state, const std::string& user, int64_t devices,
                        base::WallMicros start, base::WallMicros end, int64_t own = 0) {
  const std::optional<int64_t> most = state.options.policy.Of(user).max_leased_devices;
  if (!most) return base::Ok{};
  std::set<base::WallMicros> moments = {start};
  std::vector<const LeaseRow*> theirs;
  for (const auto& [id, lease] : state.leases) {
    if (lease.row.user != user || id == own || !Overlaps(lease.row, start, end)) continue;
    theirs.push_back(&lease.row);
    moments.insert(std::max(start, lease.row.start));
  }
  for (const base::WallMicros at : moments) {
    int64_t sum = devices;
    for (const LeaseRow* row : theirs)
      sum += row->start <= at && at < row->end ? static_cast<int64_t>(row->workers.size()) : 0;
    if (sum <= *most) continue;
    return base::Error{base::Code::kExhausted,
                       "leases of " + user + " would have " + Count(sum) + " at " + UtcText(at) +
                           ": at most " + std::to_string(*most) + " by this site's policy"};
  }
  return base::Ok{};
}

base::WallMicros NextMinute(base::WallMicros at) {
  return (at + kWholeMinute - 1) / kWholeMinute * kWholeMinute;
}

}  // namespace

base::Result<LeaseRow> NewLease(const State& state, const LeaseWish& wish, const std::string& name,
                                const Now& now) {
  if (base::Status named = CheckLeaseName(state, name); !named) return named.error();
  if (base::Status wished = CheckWish(state, wish, now); !wished) return wished.error();
  if (static_cast<int64_t>(state.leases.size()) >= state.options.max_leases) {
    return base::Error{base::Code::kExhausted,
                       std::to_string(state.leases.size()) + " leases are not over: try later"};
  }
  const auto classes = WishedWorkers(state, wish);
  if (!classes) return classes.error();
  LeaseRow row;
  row.name = name.empty() ? "lease-" + std::to_string(state.next_lease) : name;
  row.start = wish.start == 0 ? now.wall : std::max(wish.start, now.wall);
  row.end = row.start + wish.length_us;
  row.created_at = now.wall;
  row.user = wish.user;
  if (base::Status quota = CheckQuota(state, row.user, wish.devices, row.start, row.end); !quota)
    return quota.error();
  std::string why;
  row.workers = DevicesFrom(state, *classes, wish, row.start, now, &why);
  if (!row.workers.empty()) return row;
  const auto first = FindBlock(state, wish, now);
  if (first) why += "; the first free block begins " + UtcText(first->start);
  return base::Error{base::Code::kConflict, why};
}

base::Result<LeaseBlock> FindBlock(const State& state, const LeaseWish& wish, const Now& now) {
  if (base::Status wished = CheckWish(state, wish, now); !wished) return wished.error();
  const auto classes = WishedWorkers(state, wish);
  if (!classes) return classes.error();
  const base::WallMicros from = std::max(wish.start, now.wall);
  const base::WallMicros last = now.wall + kFarthestLeaseUs;
  std::set<base::WallMicros> starts = {std::min(NextMinute(from), last)};
  // With time to ask for what is found.
  const base::WallMicros told = now.wall + state.options.lease_warning_us + 5 * kWholeMinute;
  if (told > from) starts.insert(NextMinute(told));
  for (const auto& [id, lease] : state.leases) {
    if (lease.row.end > from) starts.insert(NextMinute(lease.row.end));
  }
  const bool goes_on = std::erase_if(starts, [&](auto start) { return start > last; }) > 0;
  std::optional<base::Error> beyond_quota;
  for (const base::WallMicros start : starts) {
    std::vector<std::string> workers = DevicesFrom(state, *classes, wish, start, now);
    if (workers.empty()) continue;
    const base::Status quota =
        CheckQuota(state, wish.user, wish.devices, start, start + wish.length_us);
    if (quota) return LeaseBlock{start, std::move(workers)};
    if (!beyond_quota) beyond_quota = quota.error();
  }
  if (beyond_quota) return *beyond_quota;
  std::string why;
  DevicesFrom(state, *classes, wish, *starts.rbegin(), now, &why);
  return base::Error{
      base::Code::kConflict,
      "no block is free" + std::string(goes_on ? " within a year" : "") + ": " + why};
}

base::Result<base::WallMicros> LaterEnd(const State& state, const Lease& lease,
                                        const LeaseExtension& asked) {
  const auto [more_us, end_was] = asked;
  if (end_was != 0 && end_was != lease.row.end) {
    if (lease.row.end - end_was == more_us) return lease.row.end;
    return base::Error{base::Code::kConflict, LeaseEndText(lease.row) + ", no longer " +
                                                  UtcText(end_was) + ": it stays as it is"};
  }
  if (lease.closing) {
    return base::Error{base::Code::kConflict, LeaseText(lease.row) + " is about to end, " +
                                                  UtcText(lease.row.end) + ": make another"};
  }
  const std::string& user = lease.row.user;
  if (more_us <= 0)
    return InvalidLease("an extension of 0 s: expected a later end, by 1 s or more");
  if (more_us > LongestLeaseUs(state, user)) return CheckLength(state, user, more_us).error();
  const base::WallMicros end = lease.row.end + more_us;
  if (base::Status length = CheckLength(state, user, end - lease.row.start); !length)
    return length.error();
  for (const std::string& worker : lease.row.workers) {
    const Lease* other = LeaseBetween(state, worker, lease.row.end, end, lease.row.id);
    if (other == nullptr) continue;
    return base::Error{base::Code::kConflict, worker + " is leased then: " + LeaseText(other->row) +
                                                  " has it from " + UtcText(other->row.start)};
  }
  const auto devices = static_cast<int64_t>(lease.row.workers.size());
  const base::Status quota = CheckQuota(state, user, devices, lease.row.end, end, lease.row.id);
  if (!quota) return quota.error();
  return end;
}

}  // namespace trainctl::core
