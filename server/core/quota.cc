#include "server/core/quota.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "server/core/held.h"
#include "server/core/linked_gangs.h"
#include "server/core/reach.h"
#include "server/core/run_length.h"
#include "server/core/waiting.h"

namespace trainctl::core {
namespace {

bool CountsForQuota(const JobRow& job) { return !job.spec.resources.lease; }

// CHECKs that the user has one.
int64_t QuotaOf(const State& state, const std::string& user) {
  const auto most = state.options.policy.Of(user).max_running_devices;
  CHECK(most) << user << " has no quota";
  return *most;
}

std::string CountText(int64_t devices) {
  return std::to_string(devices) + (devices == 1 ? " device" : " devices");
}

// "2 devices", "4 devices, all that its hosts have": what the job would hold at least.
std::string WantedText(const State& state, const Job& job) {
  return CountText(LeastHeld(state, job)) +
         (job.row.spec.exclusive ? ", all that its hosts have" : "");
}

// "j1 has 2, j2 has 2": the first few.
std::string WhoHolds(const State& state, const std::string& user) {
  constexpr int kMost = 4;
  std::string text;
  int count = 0;
  for (const auto& [id, job] : state.live) {
    const int64_t held = job->attempt->held;
    if (job->row.user != user || held == 0) continue;
    if (++count > kMost) return text + ", …";
    text += (text.empty() ? "" : ", ") + base::ToString(id) + " has " + std::to_string(held) +
            (job->row.spec.exclusive ? " (exclusive)" : "");
  }
  return text;
}

void Count(State& state, const Job& job) {
  const int64_t devices = job.attempt->held;
  if (devices == 0) return;
  Held& held = state.held[job.row.user];
  held.devices += devices;
  if (job.attempt->expected_end) held.coming[*job.attempt->expected_end] += devices;
}

// As it was counted.
void Discount(State& state, const Job& job) {
  const int64_t devices = job.attempt->held;
  if (devices == 0) return;
  const auto held = state.held.find(job.row.user);
  CHECK(held != state.held.end() && held->second.devices >= devices)
      << base::ToString(job.row.id) << " held nothing";
  held->second.devices -= devices;
  if (job.attempt->expected_end) {
    const auto coming = held->second.coming.find(*job.attempt->expected_end);
    CHECK(coming != held->second.coming.end() && coming->second >= devices)
        << base::ToString(job.row.id) << " is expected at no time";
    coming->second -= devices;
    if (coming->second == 0) held->second.coming.erase(coming);
  }
  if (held->second.devices == 0) state.held.erase(held);
}

// Its device is not drained, and free, or a job's, or its worker was just there. The same before
// and after a job is placed there.
bool IsInOrder(const State& state, const Worker& worker) {
  const placement::FreeDevices::Entry& entry = state.free.entry(worker.device);
  if (entry.drained) return false;
  if (!worker.connected) return worker.holder || !worker.lost;
  return entry.free || worker.holder ||
         (worker.word == DeviceWord::kFree && worker.strays.empty() &&
          OwnerOfHost(state, worker.row.host) != nullptr);
}

// Whether so many of the class are, of those that the job reaches, where it names workers.
bool AreReachedInOrder(const State& state, const Reach& reach, placement::ClassId id,
                       int64_t devices) {
  const Reach::Part* part = PartOf(reach, id);
  return part != nullptr && part->devices.Any([&](placement::DeviceId device) {
    return IsInOrder(state, *state.devices[device]) && --devices == 0;
  });
}

}  // namespace

std::string QuotaOwner(const State& state, const Job& job) {
  const bool is_bound =
      CountsForQuota(job.row) && state.options.policy.Of(job.row.user).max_running_devices;
  return is_bound ? job.row.user : "";
}

bool ExceedsQuota(const State& state, const Job& job) {
  if (QuotaOwner(state, job).empty() || job.row.unreadable) return false;
  return LeastHeld(state, job) > QuotaOf(state, job.row.user);
}

bool HasTooManyRanks(const SitePolicy& policy, const JobRow& job) {
  const std::optional<int64_t> most = policy.Of(job.user).max_running_devices;
  return most && CountsForQuota(job) && !job.unreadable && job.spec.devices > *most;
}

std::string ExceedsReason(const State& state, const Job& job) {
  const std::string& user = job.row.user;
  return "can't start: it needs " + WantedText(state, job) + ", and " + user +
         " may have at most " + std::to_string(QuotaOf(state, user)) +
         " at once (this site's policy)";
}

void GoLive(State& state, Job& job) {
  if (state.live.insert_or_assign(job.row.id, &job).second) ++state.live_jobs[job.row.user];
  if (job.row.spec.resources.preemptible) state.preemptible.insert(job.row.id);
  Count(state, job);
}

void EndLive(State& state, const Job& job) {
  state.preemptible.erase(job.row.id);
  if (state.live.erase(job.row.id) == 0) return;
  const auto of_user = state.live_jobs.find(job.row.user);
  if (--of_user->second == 0) state.live_jobs.erase(of_user);
  Discount(state, job);
}

void GiveBack(State& state, Job& job, int64_t devices) {
  Discount(state, job);
  job.attempt->held -= devices;
  Count(state, job);
}

void ExpectEnd(State& state, Job& job, std::optional<base::SteadyMicros> at) {
  const bool is_live = state.live.contains(job.row.id);
  if (is_live) Discount(state, job);
  job.attempt->expected_end = at;
  if (is_live) Count(state, job);
}

int64_t WaitingJobsOf(const State& state, const std::string& user) {
  const auto live = state.live_jobs.find(user);
  const auto all = state.jobs_of.find(user);
  int64_t jobs = live == state.live_jobs.end() ? 0 : -live->second;
  if (all == state.jobs_of.end()) return jobs;
  for (const auto& [priority, alike] : all->second) jobs += static_cast<int64_t>(alike.size());
  return jobs;
}

int64_t MostWaitingJobsOf(const State& state, const std::string& user) {
  const std::optional<int64_t> granted = state.options.policy.Of(user).max_queued_jobs;
  return granted.value_or(state.options.max_queued_jobs_of_user);
}

int64_t HeldBy(const State& state, const std::string& user) {
  const auto held = state.held.find(user);
  return held == state.held.end() ? 0 : held->second.devices;
}

// Room only shrinks while others are placed, once it is known who is first.
bool Quotas::MayYield(const Queue::Lane& lane, const Place& place, Queue::Length length) const {
  if (lane.user == nullptr) return true;
  const User& user = Find(*lane.user);
  const int64_t devices = WantedBy(lane);
  if (user.left < devices) return false;
  return !user.first || FitsIn(RoomFor(*lane.user, devices, &place), length);
}

std::optional<int64_t> Quotas::RoomFor(const Queue::Lane& lane, const Place& place) const {
  if (lane.user == nullptr) return kAnyTime;
  return RoomFor(*lane.user, WantedBy(lane), &place);
}

std::optional<int64_t> Quotas::RoomForLast(const Queue::Lane& lane) const {
  if (lane.user == nullptr) return kAnyTime;
  return RoomFor(*lane.user, WantedBy(lane), nullptr);
}

std::optional<int64_t> Quotas::RoomFor(const Job& job) const {
  if (job.demand.user.empty()) return kAnyTime;
  const Place place = job.place();
  return RoomWith(job, LeastHeld(state_, job), &place);
}

std::optional<int64_t> Quotas::RoomWith(const Job& job, int64_t held, const Place* place) const {
  if (job.demand.user.empty()) return kAnyTime;
  return RoomFor(*state_.queue.FindUser(job.demand.user), held, place);
}

int64_t Quotas::MostFor(const Job& job) const {
  if (job.demand.user.empty()) return kAnyTime;
  const Queue::User& user = *state_.queue.FindUser(job.demand.user);
  const Place place = job.place();
  const int64_t left = Find(user).left;
  const Kept* first = FirstBefore(user, &place);
  if (first == nullptr) return left;
  return std::max(left - first->devices, first->start ? std::min(left, first->spare) : 0);
}

int64_t Quotas::WantedBy(const Queue::Lane& lane) const {
  if (!lane.demand->exclusive) return lane.demand->devices;
  return LeastHeld(state_, *lane.jobs.begin()->second.job);
}

bool Quotas::Yields(const Job& job) const { return FitsIn(RoomFor(job), job.longest_run); }

std::optional<int64_t> Quotas::RoomFor(const Queue::User& user, int64_t devices,
                                       const Place* place) const {
  const int64_t left = Find(user).left - devices;
  if (left < 0) return std::nullopt;
  const Kept* first = FirstBefore(user, place);
  if (first == nullptr || left >= first->devices) return kAnyTime;
  if (!first->start) return std::nullopt;
  return first->spare >= devices ? kAnyTime : *first->start - now_.steady;
}

int64_t Quotas::LongestGap() const {
  int64_t longest = 0;
  for (const User& user : users_) {
    if (user.first && user.first->start)
      longest = std::max(longest, *user.first->start - now_.steady);
  }
  return longest;
}

void Quotas::Take(const Job& job) {
  if (job.demand.user.empty()) return;
  const Queue::User& owner = *state_.queue.FindUser(job.demand.user);
  User& user = Find(owner);
  user.left -= job.attempt->held;
  if (user.first) user.first = KeepFor(owner, user.first->job, user.first->devices);
}

Quotas::Kept Quotas::KeepFor(const Queue::User& user, base::JobId job, int64_t wanted) const {
  Kept kept{.job = job, .devices = wanted, .start = std::nullopt, .spare = 0};
  int64_t left = Find(user).left - wanted;
  if (left >= 0) return kept;
  const auto held = state_.held.find(user.name);
  if (held == state_.held.end()) return kept;
  for (const auto& [end, devices] : held->second.coming) {
    const base::SteadyMicros at = std::max(end, now_.steady);
    if (kept.start && at > *kept.start) break;
    left += devices;
    if (left < 0) continue;
    kept.start = at;
    kept.spare = left;
  }
  return kept;
}

Quotas::User& Quotas::Find(const Queue::User& user) const {
  User& found = users_[user.number];
  if (!found.is_known) {
    found.is_known = true;
    found.quota = QuotaOf(state_, user.name);
    found.left = found.quota - HeldBy(state_, user.name);
  }
  return found;
}

// What one look places was free before: the numbers stay true.
bool Quotas::CanBeFree(const Queue::Kind& kind) const {
  std::optional<bool>& known = can_be_free_[kind.number];
  if (known) return *known;
  const Job& job = *kind.heads.begin()->second.job;
  const int64_t devices = job.row.spec.devices;
  const Reach* reach = ReachOf(state_, job);
  known = std::ranges::any_of(UsableClasses(state_, job), [&](placement::ClassId id) {
    if (LinksOf(job)) {
      const auto is_in_order = [&](const Worker& worker) { return IsInOrder(state_, worker); };
      return MostLinkedOf(state_, job, id, is_in_order) >= devices;
    }
    return reach == nullptr ? AreInOrder(id, devices)
                            : AreReachedInOrder(state_, *reach, id, devices);
  });
  return *known;
}

bool Quotas::AreInOrder(placement::ClassId id, int64_t devices) const {
  in_order_.resize(state_.free.pools().size());
  for (; in_order_[id] < devices && counted_ != state_.workers.end(); ++counted_) {
    const Worker& worker = counted_->second;
    if (IsInOrder(state_, worker)) ++in_order_[state_.free.entry(worker.device).device_class];
  }
  return in_order_[id] >= devices;
}

const Job* Quotas::FirstBefore(const Job& job) const {
  if (job.demand.user.empty()) return nullptr;
  const Place place = job.place();
  const Kept* first = FirstBefore(*state_.queue.FindUser(job.demand.user), &place);
  return first == nullptr ? nullptr : &state_.jobs.at(first->job);
}

std::optional<base::SteadyMicros> Quotas::StartBefore(const Job& job) const {
  const Place place = job.place();
  const Kept* first = FirstBefore(*state_.queue.FindUser(job.demand.user), &place);
  return first == nullptr ? std::nullopt : first->start;
}

std::optional<base::SteadyMicros> Quotas::StartOf(const Job& job) const {
  if (Yields(job)) return now_.steady;
  if (FirstBefore(job) != nullptr) return std::nullopt;
  const Queue::User& user = *state_.queue.FindUser(job.demand.user);
  return KeepFor(user, job.row.id, LeastHeld(state_, job)).start;
}

const Quotas::Kept* Quotas::FirstBefore(const Queue::User& user, const Place* place) const {
  const User& looked = Find(user);
  // The shares of one user's jobs are alike: they are compared without (Queue::Lane::Whole).
  const auto is_before = [&](Place own) {
    if (place == nullptr) return true;
    if (own.share != kLifted) own.share = place->share == kLifted ? 0 : place->share;
    return own < *place;
  };
  if (!looked.first) LookForFirst(user, is_before);
  return looked.first && is_before(*looked.looked_until) ? &*looked.first : nullptr;
}

template <class IsBefore>
void Quotas::LookForFirst(const Queue::User& user, const IsBefore& is_before) const {
  User& looked = Find(user);
  auto head =
      looked.looked_until ? user.heads.upper_bound(*looked.looked_until) : user.heads.begin();
  for (; !looked.first && head != user.heads.end() && is_before(head->first); ++head) {
    const Queue::Lane& lane = *head->second.lane;
    const int64_t devices = WantedBy(lane);
    looked.looked_until = head->first;
    if (devices <= looked.quota && CanBeFree(*lane.kind))
      looked.first = KeepFor(user, head->first.job, devices);
  }
}

std::string QuotaReason(const State& state, const Job& job, const Quotas& quotas, const Now& now,
                        int64_t too_many) {
  const std::string& user = job.demand.user;
  const int64_t most = QuotaOf(state, user), held = HeldBy(state, user);
  std::string text = "waits for " + user + "'s quota: " + user + " holds " + CountText(held) +
                     " of at most " + std::to_string(most);
  if (held > 0) text += " (" + WhoHolds(state, user) + ")";
  if (too_many > 0) {
    text += "; hosts that are free for it have " + CountText(too_many);
  } else if (job.row.spec.exclusive) {
    text += "; it would hold " + WantedText(state, job);
  }
  const Job* first = quotas.FirstBefore(job);
  if (first == nullptr) return text;
  text += "; " + base::ToString(first->row.id) + ", which goes first, waits for " +
          std::to_string(LeastHeld(state, *first));
  const auto start = quotas.StartBefore(job);
  if (!start) return text;
  text += ", " + AboutMinutes(*start - now.steady) + " more";
  const int64_t minutes = MinutesWithin(state.options, quotas.RoomFor(job).value_or(0));
  if (minutes == 0) return text;
  return text + "; a time limit of at most " + WholeMinutes(minutes) + " would let it go before";
}

}  // namespace trainctl::core
