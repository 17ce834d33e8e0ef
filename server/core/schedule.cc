#include <algorithm>
#include <vector>

#include "server/core/gang.h"
#include "server/core/handlers.h"
#include "server/core/inspect.h"
#include "server/core/waiting.h"
#include "server/placement/placement.h"

namespace trainctl::core {
namespace {

using placement::ClassId;
using placement::FreeDevices;

// One pass over the lanes' first jobs, in the queue's order. Whoever can't be placed holds back the
// classes that it could use.
class Pass {
 public:
  explicit Pass(Turn& turn) : turn_(turn), held_back_(turn.state.free.pools().size()) {}

  void Run() {
    const std::map<Place, const Demand*>& heads = turn_.state.queue.heads();
    for (auto head = heads.begin(); head != heads.end() && SomethingIsLeft();) {
      const Place place = head->first;
      TryToPlace(turn_.state.jobs.at(place.job));
      head = heads.upper_bound(place);  // the next job of its lane has moved up, if it was placed
    }
  }

 private:
  bool SomethingIsLeft() const {
    const std::vector<FreeDevices::Pool>& pools = turn_.state.free.pools();
    for (size_t i = 0; i < pools.size(); ++i) {
      if (pools[i].free > 0 && !held_back_[i]) return true;
    }
    return false;
  }

  void TryToPlace(Job& job) {
    const std::vector<ClassId> usable = UsableClasses(turn_.state, job);
    const FreeDevices::Pool* best = nullptr;
    for (const ClassId id : usable) {
      const FreeDevices::Pool& pool = turn_.state.free.pools()[id];
      if (held_back_[id] || pool.free < job.row.spec.devices) continue;
      if (best == nullptr || placement::Prefer(pool.device_class, best->device_class)) best = &pool;
    }
    if (best == nullptr) return HoldBack(usable);
    const std::vector<placement::DeviceId> devices =
        placement::Policies().front().choose(*best, job.row.spec.devices);
    LeaveQueue(turn_.state, job);
    if (NeedsInspection(turn_.state, job)) return InspectFirst(turn_, job);
    StartGang(turn_, job, devices);
  }

  void HoldBack(const std::vector<ClassId>& usable) {
    for (const ClassId id : usable) held_back_[id] = true;
  }

  Turn& turn_;
  std::vector<bool> held_back_;  // by class
};

}  // namespace

void Schedule(Turn& turn) {
  Pass(turn).Run();
  AskForInspections(turn);
}

}  // namespace trainctl::core
