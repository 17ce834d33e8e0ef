#include <algorithm>
#include <set>
#include <vector>

#include "server/core/choice.h"
#include "server/core/gang.h"
#include "server/core/handlers.h"
#include "server/core/holds.h"
#include "server/core/inspect.h"
#include "server/core/leases.h"
#include "server/core/loan.h"
#include "server/core/preempt.h"
#include "server/core/quota.h"
#include "server/core/waiting.h"

namespace trainctl::core {
namespace {

using placement::ClassId;
using placement::FreeDevices;

// One pass over the lanes' first jobs, in the queue's order; whoever can't be placed holds the
// classes that it could use. Then one over the jobs behind them that are short enough. Whoever
// waits for its owner's quota is passed over. Others may give way to one that can't be placed.
class Pass {
 public:
  explicit Pass(Turn& turn)
      : turn_(turn),
        holds_(turn.state, turn.now),
        quotas_(turn.state),
        least_(LeastThatMayGiveWay(turn.state, turn.now)) {}

  void Run() {
    const std::map<Place, const Demand*>& heads = turn_.state.queue.heads();
    for (auto head = heads.begin(); head != heads.end() && MayGetAny(head->first);) {
      const Place place = head->first;
      if (!IsPassedOver(*head->second)) PlaceOrWait(turn_.state.jobs.at(place.job));
      head = heads.upper_bound(place);  // the next job of its lane has moved up, if it was placed
    }
    std::set<const Demand*> done;
    while (SomethingIsLeft()) {
      const auto [job, lane] = NextShortEnough(done);
      if (job == nullptr) return;
      if (!TryToPlace(*job)) done.insert(lane);
    }
  }

 private:
  struct Candidate {
    Job* job = nullptr;
    const Demand* lane = nullptr;
  };

  // Nothing of the lane can start, and none of its jobs has anything to keep.
  bool IsPassedOver(const Demand& lane) const {
    return !quotas_.Yields(lane) && quotas_.FirstOf(lane.user) != nullptr;
  }

  void PlaceOrWait(Job& job) {
    if (TryToPlace(job)) return;
    if (quotas_.Yields(job.demand)) {
      if (MayTake(job.place())) PreemptFor(turn_, holds_, job);
      holds_.Add(job);
    }
    quotas_.Wait(job);
  }

  bool MayGetAny(const Place& place) const { return SomethingIsLeft() || MayTake(place); }

  bool MayTake(const Place& place) const { return least_ && *least_ < place.priority; }

  bool SomethingIsLeft() const {
    const std::vector<FreeDevices::Pool>& pools = turn_.state.free.pools();
    for (size_t id = 0; id < pools.size(); ++id) {
      if (pools[id].free > 0 && holds_.MayYield(static_cast<ClassId>(id))) return true;
    }
    return false;
  }

  // Of all lanes' jobs. The first of each lane was tried.
  Candidate NextShortEnough(const std::set<const Demand*>& done) const {
    std::optional<Place> first;
    const Demand* its_lane = nullptr;
    for (const auto& [demand, lane] : turn_.state.queue.lanes()) {
      if (lane.jobs.size() < 2 || lane.by_length.empty() || done.contains(&demand)) continue;
      if (!quotas_.Yields(demand)) continue;
      const std::optional<Place> place = lane.FirstWithin(LongestGap(lane));
      if (!place || (first && *first < *place)) continue;
      first = place;
      its_lane = &demand;
    }
    return first ? Candidate{&turn_.state.jobs.at(first->job), its_lane} : Candidate();
  }

  // Among the classes that have enough for the lane's jobs.
  int64_t LongestGap(const Queue::Lane& lane) const {
    const Job& job = turn_.state.jobs.at(lane.jobs.begin()->job);
    int64_t longest = 0;
    for (const ClassId id : UsableClasses(turn_.state, job)) {
      if (turn_.state.free.pools()[id].free < job.row.spec.devices) continue;
      const int64_t room = RoomBeforeLeases(turn_.state, id, job, turn_.now);
      longest = std::max(longest, std::min(room, holds_.Gap(id, job)));
    }
    return longest;
  }

  bool TryToPlace(Job& job) {
    if (!quotas_.Yields(job.demand)) return false;
    const std::vector<placement::DeviceId> devices =
        ChooseDevices(turn_.state, holds_, job, turn_.now);
    if (devices.empty()) return false;
    LeaveQueue(turn_.state, job);
    if (NeedsInspection(turn_.state, job)) {
      InspectFirst(turn_, job);
    } else {
      holds_.Take(devices, job);
      StartGang(turn_, job, devices);
    }
    return true;
  }

  Turn& turn_;
  Holds holds_;
  Quotas quotas_;
  const std::optional<int64_t> least_;  // priority of those that may give way
};

}  // namespace

void Schedule(Turn& turn) {
  if (IsClosing(turn.state, turn.now)) return;
  Pass(turn).Run();
  AskForInspections(turn);
}

}  // namespace trainctl::core
