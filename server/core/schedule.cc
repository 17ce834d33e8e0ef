#include <algorithm>
#include <set>
#include <vector>

#include "server/core/gang.h"
#include "server/core/handlers.h"
#include "server/core/holds.h"
#include "server/core/inspect.h"
#include "server/core/leases.h"
#include "server/core/quota.h"
#include "server/core/waiting.h"
#include "server/placement/placement.h"

namespace trainctl::core {
namespace {

using placement::ClassId;
using placement::FreeDevices;

// One pass over the lanes' first jobs, in the queue's order; whoever can't be placed holds the
// classes that it could use. Then one over the jobs behind them that are short enough. Whoever
// waits for its owner's quota is passed over.
class Pass {
 public:
  explicit Pass(Turn& turn) : turn_(turn), holds_(turn.state, turn.now), quotas_(turn.state) {}

  void Run() {
    const std::map<Place, const Demand*>& heads = turn_.state.queue.heads();
    for (auto head = heads.begin(); head != heads.end() && SomethingIsLeft();) {
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
    if (quotas_.Yields(job.demand)) holds_.Add(job);
    quotas_.Wait(job);
  }

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
      const int64_t room = RoomBeforeLeases(turn_.state, id, job.row.spec.devices, turn_.now);
      longest = std::max(longest, std::min(room, holds_.Gap(id)));
    }
    return longest;
  }

  bool TryToPlace(Job& job) {
    if (!quotas_.Yields(job.demand)) return false;
    const std::vector<placement::DeviceId> devices = ChooseDevices(job);
    if (devices.empty()) return false;
    LeaveQueue(turn_.state, job);
    if (NeedsInspection(turn_.state, job)) {
      InspectFirst(turn_, job);
    } else {
      holds_.Take(turn_.state.free.entry(devices.front()).device_class, job);
      StartGang(turn_, job, devices);
    }
    return true;
  }

  // Of the class that suits best; empty: there are not enough of any.
  std::vector<placement::DeviceId> ChooseDevices(const Job& job) const {
    const std::vector<FreeDevices::Pool>& pools = turn_.state.free.pools();
    std::vector<ClassId> usable = UsableClasses(turn_.state, job);
    std::ranges::sort(usable, [&](ClassId left, ClassId right) {
      return placement::Prefer(pools[left].device_class, pools[right].device_class);
    });
    const bool exclusive = job.row.spec.exclusive;
    for (const ClassId id : usable) {
      if (pools[id].free < job.row.spec.devices) continue;
      if (exclusive ? !holds_.YieldsHosts(id, job) : !holds_.Yields(id, job)) continue;
      const auto choose = placement::Policies().front().choose;
      const std::vector<placement::DeviceId> devices =
          exclusive ? choose(OnEmptyHosts(pools[id], job), job.row.spec.devices)
                    : ChooseAmongLeases(id, job);
      if (!devices.empty()) return devices;
    }
    return {};
  }

  // Devices of the class that no lease wants before the job ends.
  std::vector<placement::DeviceId> ChooseAmongLeases(ClassId id, const Job& job) const {
    const FreeDevices::Pool& pool = turn_.state.free.pools()[id];
    const auto choose = placement::Policies().front().choose;
    const std::set<placement::DeviceId> barred = BarredDevices(turn_.state, id, job, turn_.now);
    return choose(barred.empty() ? pool : pool.Without(barred), job.row.spec.devices);
  }

  // Whether it is the job's lease's, or nobody's until the job ends.
  bool LeavesLeasesAlone(const Worker& worker, const Job& job) const {
    const ClassId id = turn_.state.free.entry(worker.device).device_class;
    if (turn_.state.free.pools()[id].device_class.lease != job.lease) return false;
    return job.lease != 0 ||
           IsClear(turn_.state, worker, LengthAmongLeases(turn_.state, job, id), turn_.now);
  }

  // Hosts that an exclusive job may have. One with a device that an earlier job holds is among them
  // only if the job ends in time.
  FreeDevices::Pool OnEmptyHosts(const FreeDevices::Pool& pool, const Job& job) const {
    return pool.OnHosts([&](const std::string& host) {
      return std::ranges::all_of(turn_.state.hosts.at(host), [&](const Worker* worker) {
        return LeavesHostEmpty(*worker) && LeavesLeasesAlone(*worker, job) &&
               holds_.YieldsHosts(turn_.state.free.entry(worker->device).device_class, job);
      });
    });
  }

  Turn& turn_;
  Holds holds_;
  Quotas quotas_;
};

}  // namespace

void Schedule(Turn& turn) {
  Pass(turn).Run();
  AskForInspections(turn);
}

}  // namespace trainctl::core
