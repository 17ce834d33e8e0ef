#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
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
      // Where it was placed, the next job of its lane has moved up.
      head = TakeTurn(place, *head->second) ? heads.upper_bound(place) : std::next(head);
    }
    PlaceShortOnes();
  }

 private:
  struct Candidate {
    Place place;
    const Demand* demand = nullptr;
    const Queue::Lane* lane = nullptr;
    bool operator<(const Candidate& other) const { return other.place < place; }  // first on top
  };

  // Of all lanes the jobs behind the first, which was tried. While jobs are placed gaps, quotas and
  // free devices only shrink. So a lane's next job is never before the one that was found.
  void PlaceShortOnes() {
    if (!SomethingIsLeft()) return;
    const Queue::Length shortest = turn_.state.queue.ShortestOf(MostFree());
    if (!shortest || *shortest > holds_.LongestGap()) return;
    std::vector<Candidate> candidates;
    for (const auto& [demand, lane] : turn_.state.queue.lanes()) {
      if (const auto place = FirstShortEnough(demand, lane))
        candidates.push_back({*place, &demand, &lane});
    }
    std::make_heap(candidates.begin(), candidates.end());
    while (!candidates.empty() && SomethingIsLeft()) {
      std::pop_heap(candidates.begin(), candidates.end());
      const Candidate candidate = candidates.back();
      candidates.pop_back();
      auto next = FirstShortEnough(*candidate.demand, *candidate.lane);
      if (next && *next == candidate.place) {
        if (!TryToPlace(turn_.state.jobs.at(next->job))) continue;
        next = FirstShortEnough(*candidate.demand, *candidate.lane);
      }
      if (!next) continue;
      candidates.push_back({*next, candidate.demand, candidate.lane});
      std::push_heap(candidates.begin(), candidates.end());
    }
  }

  // Whether the lane's first job was placed.
  bool TakeTurn(const Place& place, const Demand& lane) {
    if (!ChangesAnything(place, lane)) {
      quotas_.Wait(lane, place.job);
      return false;
    }
    return !IsPassedOver(lane) && PlaceOrWait(turn_.state.jobs.at(place.job));
  }

  // Whether the job may get devices, or hold some.
  bool ChangesAnything(const Place& place, const Demand& lane) const {
    return lane.devices <= MostFree() || MayTake(place) || !holds_.AllAreWhole();
  }

  // Nothing of the lane can start, and none of its jobs has anything to keep.
  bool IsPassedOver(const Demand& lane) const {
    return !quotas_.Yields(lane) && quotas_.FirstOf(lane.user) != nullptr;
  }

  bool PlaceOrWait(Job& job) {
    if (TryToPlace(job)) return true;
    if (quotas_.Yields(job.demand)) {
      if (MayTake(job.place())) PreemptFor(turn_, holds_, job);
      holds_.Add(job);
    }
    quotas_.Wait(job.demand, job.row.id);
    return false;
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

  // Of any class.
  int64_t MostFree() const {
    int64_t most = 0;
    for (const FreeDevices::Pool& pool : turn_.state.free.pools()) most = std::max(most, pool.free);
    return most;
  }

  // A lane that has come to its last job stays.
  std::optional<Place> FirstShortEnough(const Demand& demand, const Queue::Lane& lane) const {
    if (lane.jobs.size() < 2 || lane.by_length.empty() || demand.devices > MostFree())
      return std::nullopt;
    if (lane.by_length.begin()->first > holds_.LongestGap() || !quotas_.Yields(demand))
      return std::nullopt;
    return lane.FirstWithin(LongestGap(lane));
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
    if (job.demand.devices > MostFree() || !quotas_.Yields(job.demand)) return false;
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
