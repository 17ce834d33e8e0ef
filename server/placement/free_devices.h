// The devices that a gang could get now, indexed so that choosing never scans the site: by class
// (devices that ranks of one gang may share), then by host. Not thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/job/site.h"
#include "server/placement/device_set.h"

namespace trainctl::placement {

using ClassId = int64_t;  // from 0

// Devices of one class are alike: kind, model, memory, compute capability, and whose they are now.
// All ranks of a gang are on one class.
struct DeviceClass {
  job::DeviceKind kind = job::DeviceKind::kCpu;
  std::string name;
  int64_t memory_bytes = 0;
  std::string compute_capability;
  int64_t lease = 0;  // whose jobs alone may have them now; 0: any job may
  auto operator<=>(const DeviceClass&) const = default;
};

class FreeDevices {
 public:
  struct Entry {
    ClassId device_class = 0;
    std::string host;
    int64_t index = 0;  // on its host: lower ones are taken first
    bool free = false;
    bool drained = false;
    std::string uuid;
    std::optional<int64_t> numa_node;
    job::Links links;
    std::optional<base::SteadyMicros> coming;  // of one that is not free: when it is expected to be
  };
  // Of one class.
  struct Pool {
    DeviceClass device_class;
    ClassId unleased = 0;  // the class of such devices under no lease: this one, or another
    int64_t total = 0;     // registered, free or not
    int64_t drained = 0;   // of those: nothing new may be placed there
    int64_t leased = 0;    // beside those: like them, but under a lease now
    int64_t free = 0;      //
    std::map<std::string, std::set<std::pair<int64_t, DeviceId>>>
        hosts;  // free devices by (index, id); no host is empty
    std::set<std::pair<int64_t, std::string>> by_count;        // (number of free devices, host)
    std::set<std::pair<base::SteadyMicros, DeviceId>> coming;  // by when they are expected

    // When `count` devices are free, if what is expected comes true; nullopt: not known. Now, where
    // they are: the least of all times.
    std::optional<base::SteadyMicros> FreeAt(int64_t count) const;
    // How many are free by then; no more than `most` are looked for.
    int64_t FreeBy(base::SteadyMicros at, int64_t most) const;

    // The same with those of the free devices only that are wanted.
    Pool Where(const std::function<bool(DeviceId)>& is_wanted) const;
  };

  // A device of the site, not free yet, under no lease.
  DeviceId Register(const job::SiteDevice& device, int64_t index);
  // The same device, described anew (a card was exchanged). Not free afterwards, under no lease.
  void Describe(DeviceId id, const job::SiteDevice& device, int64_t index);
  // How the device, which was registered or described before, reaches others of its host.
  void SetLinks(DeviceId id, const job::Device& device);
  // The device has left the site for good; its id is not given again.
  void Remove(DeviceId id);
  // Idempotent.
  void SetFree(DeviceId id, bool free);
  // Idempotent. Who says so sees to it that a drained device is not free.
  void SetDrained(DeviceId id, bool drained);
  // Idempotent. The device is of another class then, and not free until who says so calls SetFree.
  void SetLease(DeviceId id, int64_t lease);
  // When a device that is not free is expected to be; nullopt: not known. Forgotten once it is
  // free.
  void SetComing(DeviceId id, std::optional<base::SteadyMicros> at);

  // Another one whenever a device came, left, changed its class, or was drained or undrained.
  int64_t version() const { return version_; }
  const Entry& entry(DeviceId id) const { return entries_[id]; }
  // Those that are free, of all classes.
  const DeviceSet& free() const { return free_; }
  // Between two devices; of those of two hosts it is not known.
  job::LinkKind Link(DeviceId left, DeviceId right) const;
  // Whether any device ever told of links.
  bool has_links() const { return has_links_; }
  // How close two devices of one host are: more is closer. By their link, then by their NUMA node.
  int64_t Closeness(DeviceId left, DeviceId right) const;
  const std::vector<Pool>& pools() const { return pools_; }  // by ClassId
  // The class's free devices, as if these of its devices were free too.
  Pool PoolWith(ClassId id, const std::vector<DeviceId>& devices) const;

 private:
  ClassId FindClass(const DeviceClass& key);
  void Join(DeviceId id, const DeviceClass& key);
  void Leave(DeviceId id);  // its class

  int64_t version_ = 0;
  bool has_links_ = false;
  std::vector<Entry> entries_;
  DeviceSet free_;
  std::vector<Pool> pools_;
  std::map<DeviceClass, ClassId> classes_;
  // Classes of leases that are over, by what they are without: the next lease's.
  std::map<DeviceClass, std::vector<ClassId>> vacant_;
};

}  // namespace trainctl::placement
