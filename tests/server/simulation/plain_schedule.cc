#include "tests/server/simulation/plain_schedule.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "server/core/choice.h"
#include "server/core/gang.h"
#include "server/core/held.h"
#include "server/core/inspect.h"
#include "server/core/leases.h"
#include "server/core/linked_gangs.h"
#include "server/core/loan.h"
#include "server/core/preempt.h"
#include "server/core/quota.h"
#include "server/core/reach.h"
#include "server/core/run_length.h"
#include "server/core/waiting.h"

namespace trainctl::core {
namespace {

class PlainPass {
 public:
  explicit PlainPass(Turn& turn)
      : turn_(turn),
        state_(turn.state),
        holds_(turn.state, turn.now),
        least_(LeastThatMayGiveWay(turn.state, turn.now)) {}

  void Run() {
    std::optional<Place> last;
    while (const auto place = NextHead(last)) {
      last = place;
      Job& job = state_.jobs.at(place->job);
      const std::optional<int64_t> room = QuotaRoom(job, LeastHeld(state_, job), &*place);
      if (!FitsIn(room, job.longest_run) || TryToPlace(job, &*place) || room != kAnyTime) continue;
      const bool may_take = least_ && *least_ < place->priority;
      holds_.Add(job, !may_take || PreemptFor(turn_, holds_, job, MostHeld(job, *place)));
    }
    Refused refused;
    while (Job* job = FirstShortEnough(refused)) {
      if (!TryToPlace(*job, nullptr)) refused[job->demand] = *job->longest_run;
    }
  }

 private:
  // Who runs so long or longer can't be placed.
  using Refused = std::map<Demand, int64_t>;

  // The first job of each demand.
  std::map<Place, const Job*> Heads() const {
    std::map<Demand, const Job*> firsts;
    for (const auto& [id, job] : state_.jobs) {
      if (job.lane != Lane::kQueue) continue;
      const Job*& first = firsts[job.demand];
      if (first == nullptr || job.place() < first->place()) first = &job;
    }
    std::map<Place, const Job*> heads;
    for (const auto& [demand, job] : firsts) heads[job->place()] = job;
    return heads;
  }

  std::optional<Place> NextHead(const std::optional<Place>& last) const {
    const std::map<Place, const Job*> heads = Heads();
    const auto next = last ? heads.upper_bound(*last) : heads.begin();
    return next == heads.end() ? std::nullopt : std::optional(next->first);
  }

  // Of those behind the first of their demand, the first whose run fits a gap.
  Job* FirstShortEnough(const Refused& refused) const {
    std::map<Demand, int64_t> counts;
    for (const auto& [id, job] : state_.jobs) counts[job.demand] += job.lane == Lane::kQueue;
    Job* first = nullptr;
    for (auto& [id, job] : state_.jobs) {
      if (job.lane != Lane::kQueue || counts[job.demand] < 2 || !job.longest_run) continue;
      const std::optional<int64_t> room = QuotaRoom(job, LeastHeld(state_, job), nullptr);
      const auto known = refused.find(job.demand);
      if ((known != refused.end() && *job.longest_run >= known->second) || !room) continue;
      // Who has the quota for any time was looked at before, but for what is held.
      if (*job.longest_run > (*room == kAnyTime ? LongestGap(job) : *room)) continue;
      if (first == nullptr || job.place() < first->place()) first = &job;
    }
    return first;
  }

  // Of what jobs hold that wait.
  int64_t LongestGap(const Job& job) const {
    int64_t longest = 0;
    for (const placement::ClassId id : UsableClasses(state_, job)) {
      if (state_.free.pools()[id].free < job.row.spec.devices) continue;
      const int64_t room = RoomBeforeLeases(state_, id, job, turn_.now);
      longest = std::max(longest, std::min(room, holds_.Gap(id, job)));
    }
    return longest;
  }

  // The most devices that the quota lets the job have for any time.
  int64_t MostHeld(const Job& job, const Place& place) const {
    if (job.demand.user.empty()) return kAnyTime;
    int64_t most = *state_.options.policy.Of(job.demand.user).max_running_devices;
    while (most > 0 && QuotaRoom(job, most, &place) != kAnyTime) --most;
    return most;
  }

  // For how long the user's quota lets the job have so many devices: what the first before that
  // place keeps is not left over. Null: before all places.
  std::optional<int64_t> QuotaRoom(const Job& job, int64_t devices, const Place* place) const {
    const std::string& user = job.demand.user;
    if (user.empty()) return kAnyTime;
    const Job* first = nullptr;
    for (const auto& [other_place, other] : Heads()) {
      const bool is_before = place == nullptr || other_place < *place;
      if (first == nullptr && is_before && other->demand.user == user && CanStart(*other))
        first = other;
    }
    const int64_t left = LeftAt(user, turn_.now.steady - 1);
    if (left < devices) return std::nullopt;
    const int64_t kept = first == nullptr ? 0 : LeastHeld(state_, *first);
    if (left >= devices + kept) return kAnyTime;
    if (left >= kept) return std::nullopt;
    std::set<base::SteadyMicros> ends;
    for (const auto& [id, live] : state_.live) {
      if (live->attempt->expected_end)
        ends.insert(std::max(*live->attempt->expected_end, turn_.now.steady));
    }
    for (const base::SteadyMicros end : ends) {
      const int64_t left_then = LeftAt(user, end);
      if (left_then >= kept + devices) return kAnyTime;
      if (left_then >= kept) return end - turn_.now.steady;
    }
    return std::nullopt;
  }

  // Of the user's quota, once the jobs have ended that are expected to by then.
  int64_t LeftAt(const std::string& user, base::SteadyMicros at) const {
    int64_t left = *state_.options.policy.Of(user).max_running_devices;
    for (const auto& [id, live] : state_.live) {
      if (live->row.user != user || live->row.spec.resources.lease) continue;
      const auto& end = live->attempt->expected_end;
      const bool has_ended = end && std::max(*end, turn_.now.steady) <= at;
      if (!has_ended) left -= live->attempt->held;
    }
    return left;
  }

  // Once jobs have ended, on devices that are in order.
  bool CanStart(const Job& job) const {
    if (ExceedsQuota(state_, job)) return false;
    std::map<placement::ClassId, int64_t> in_order;
    for (const auto& [name, worker] : state_.workers) {
      if (!IsInOrder(worker) || !Reaches(state_, job, worker.device)) continue;
      ++in_order[state_.free.entry(worker.device).device_class];
    }
    return std::ranges::any_of(UsableClasses(state_, job), [&](placement::ClassId id) {
      const auto is_in_order = [&](const Worker& worker) { return IsInOrder(worker); };
      const int64_t most = LinksOf(job) ? MostLinkedOf(state_, job, id, is_in_order) : in_order[id];
      return most >= job.row.spec.devices;
    });
  }

  bool IsInOrder(const Worker& worker) const {
    if (state_.free.entry(worker.device).drained) return false;
    using enum job::WorkerState;
    const job::WorkerState is = StateOf(state_, worker);
    const bool is_back_soon = is == kLost && !worker.lost;
    return is == kReady || is == kLeased || is == kBusy || is_back_soon || worker.holder;
  }

  bool TryToPlace(Job& job, const Place* place) {
    const auto devices = ChooseDevices(state_, holds_, job, turn_.now);
    if (devices.empty()) return false;
    const placement::ClassId id = state_.free.entry(devices.front()).device_class;
    const placement::DeviceClass& device_class = state_.free.pools()[id].device_class;
    const auto room = QuotaRoom(job, HeldWith(state_, job, devices), place);
    if (!FitsIn(room, LongestRunOn(state_.options, job, device_class))) return false;
    LeaveQueue(state_, job);
    if (NeedsInspection(state_, job)) {
      InspectFirst(turn_, job);
    } else {
      holds_.Take(devices, job);
      StartGang(turn_, job, devices);
    }
    return true;
  }

  Turn& turn_;
  State& state_;
  Holds holds_;
  const std::optional<int64_t> least_;
};

}  // namespace

void PlainSchedule(Turn& turn) {
  turn.state.look_again = IsClosing(turn.state, turn.now);
  if (turn.state.look_again) return;
  const size_t live = turn.state.live.size();
  PlainPass(turn).Run();
  if (turn.state.live.size() > live) turn.state.look_again = true;
  AskForInspections(turn);
}

}  // namespace trainctl::core
