#include "tests/server/plain_schedule.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "server/core/choice.h"
#include "server/core/gang.h"
#include "server/core/inspect.h"
#include "server/core/leases.h"
#include "server/core/loan.h"
#include "server/core/preempt.h"
#include "server/core/quota.h"
#include "server/core/reach.h"
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
      if (!QuotaYields(job, &*place) || TryToPlace(job)) continue;
      if (least_ && *least_ < place->priority) PreemptFor(turn_, holds_, job);
      holds_.Add(job);
    }
    std::set<Demand> given_up;
    while (Job* job = FirstShortEnough(given_up)) {
      if (!TryToPlace(*job)) given_up.insert(job->demand);
    }
  }

 private:
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
  Job* FirstShortEnough(const std::set<Demand>& given_up) const {
    std::map<Demand, int64_t> counts;
    for (const auto& [id, job] : state_.jobs) counts[job.demand] += job.lane == Lane::kQueue;
    Job* first = nullptr;
    for (auto& [id, job] : state_.jobs) {
      if (job.lane != Lane::kQueue || counts[job.demand] < 2 || !job.longest_run) continue;
      if (given_up.contains(job.demand) || *job.longest_run > LongestGap(job)) continue;
      if (!QuotaYields(job, nullptr)) continue;
      if (first == nullptr || job.place() < first->place()) first = &job;
    }
    return first;
  }

  int64_t LongestGap(const Job& job) const {
    int64_t longest = 0;
    for (const placement::ClassId id : UsableClasses(state_, job)) {
      if (state_.free.pools()[id].free < job.row.spec.devices) continue;
      const int64_t room = RoomBeforeLeases(state_, id, job, turn_.now);
      longest = std::max(longest, std::min(room, holds_.Gap(id, job)));
    }
    return longest;
  }

  // What the user's first job before that place keeps is not left over; null: before all places.
  bool QuotaYields(const Job& job, const Place* place) const {
    const std::string& user = job.demand.user;
    if (user.empty()) return true;
    int64_t left = *state_.options.policy.Of(user).max_running_devices - job.row.spec.devices;
    for (const auto& [id, other] : state_.live) {
      if (other->row.user == user && !other->row.spec.resources.lease)
        left -= other->row.spec.devices;
    }
    for (const auto& [other_place, other] : Heads()) {
      const bool is_before = place == nullptr || other_place < *place;
      if (!is_before || other->demand.user != user || !CanStart(*other)) continue;
      left -= other->row.spec.devices;
      break;
    }
    return left >= 0;
  }

  // Once jobs have ended, on devices that are in order.
  bool CanStart(const Job& job) const {
    if (ExceedsQuota(state_.options.policy, job.row)) return false;
    std::map<placement::ClassId, int64_t> in_order;
    for (const auto& [name, worker] : state_.workers) {
      const placement::FreeDevices::Entry& entry = state_.free.entry(worker.device);
      if (entry.drained || !Reaches(state_, job, worker.device)) continue;
      const std::string_view is = WorkerState(state_, worker);
      const bool is_back_soon = is == "LOST" && !worker.lost;
      const bool is_in_order = is == "READY" || is == "LEASED" || is == "BUSY" || is_back_soon;
      if (is_in_order || worker.holder) ++in_order[entry.device_class];
    }
    return std::ranges::any_of(UsableClasses(state_, job), [&](placement::ClassId id) {
      return in_order[id] >= job.row.spec.devices;
    });
  }

  bool TryToPlace(Job& job) {
    const auto devices = ChooseDevices(state_, holds_, job, turn_.now);
    if (devices.empty()) return false;
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
  if (IsClosing(turn.state, turn.now)) return;
  PlainPass(turn).Run();
  AskForInspections(turn);
}

}  // namespace trainctl::core
