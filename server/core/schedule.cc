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
    const std::vector<placement::DeviceId> devices = ChooseDevices(job);
    if (devices.empty()) return HoldBack(WantedClasses(turn_.state, job));
    LeaveQueue(turn_.state, job);
    if (NeedsInspection(turn_.state, job)) return InspectFirst(turn_, job);
    StartGang(turn_, job, devices);
  }

  // Of the class that suits best; empty: there are not enough of any.
  std::vector<placement::DeviceId> ChooseDevices(const Job& job) const {
    const std::vector<FreeDevices::Pool>& pools = turn_.state.free.pools();
    std::vector<ClassId> usable = UsableClasses(turn_.state, job);
    std::ranges::sort(usable, [&](ClassId left, ClassId right) {
      return placement::Prefer(pools[left].device_class, pools[right].device_class);
    });
    for (const ClassId id : usable) {
      if (held_back_[id] || pools[id].free < job.row.spec.devices) continue;
      const std::vector<placement::DeviceId> devices = placement::Policies().front().choose(
          job.row.spec.exclusive ? OnEmptyHosts(pools[id]) : pools[id], job.row.spec.devices);
      if (!devices.empty()) return devices;
    }
    return {};
  }

  // Hosts that an exclusive job may have. One with a device that an earlier job waits for is not
  // among them.
  FreeDevices::Pool OnEmptyHosts(const FreeDevices::Pool& pool) const {
    return pool.OnHosts([this](const std::string& host) {
      return std::ranges::all_of(turn_.state.hosts.at(host), [this](const Worker* worker) {
        return LeavesHostEmpty(*worker) &&
               !held_back_[turn_.state.free.entry(worker->device).device_class];
      });
    });
  }

  void HoldBack(const std::vector<ClassId>& wanted) {
    for (const ClassId id : wanted) held_back_[id] = true;
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
