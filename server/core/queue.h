// The waiting jobs, in lanes: one lane for each different demand (how many devices, of which kind).
// Jobs of one lane can be placed exactly when its first can. So a scheduler looks at lanes, never
// at jobs: 10,000 waiting jobs cost what their few demands cost. A short job may go before a job
// that waits (holds.h): a lane finds those of known length by it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/base/ids.h"
#include "common/estimate/inspection.h"
#include "common/job/job.h"

namespace trainctl::core {

struct Demand {
  int64_t devices = 1;
  job::Precision precision = job::Precision::k32True;
  std::map<std::string, std::string> constraints;
  int64_t gpu_bytes = 0;       // predicted need of a rank, at most its own limit; 0: not known
  int64_t slot_bytes = 0;      // the same on a CPU slot
  bool exclusive = false;      // its hosts, whole
  int64_t lease = 0;           // under which it runs; 0: none
  std::string user;            // its owner, where they have a quota (quota.h); else empty
  bool inspect_first = false;  // once its devices are free (inspect.h)
  auto operator<=>(const Demand&) const = default;
};

// The memory is estimated where there is an inspection.
Demand DemandOf(const job::JobSpec& spec, const std::optional<job::Inspection>& inspection);

// In order: higher priority first, then the smaller share, then older.
struct Place {
  int64_t priority = 0;
  base::JobId job;
  // fair_share.h; 0 of all jobs where the site has no fair share. Mutable: a set whose places all
  // get another one keeps its order (Queue::Reshare).
  mutable int64_t share = 0;
  bool operator<(const Place& other) const {
    if (priority != other.priority) return priority > other.priority;
    return share != other.share ? share < other.share : job < other.job;
  }
  bool operator==(const Place&) const = default;
};

class Queue {
 public:
  using Length = std::optional<int64_t>;  // of a run, at most, in microseconds; nullopt: not known
  struct Lane {
    std::set<Place> jobs;
    std::map<int64_t, std::set<Place>> by_length;  // of known length; no set is empty

    // The first whose run is at most so long.
    std::optional<Place> FirstWithin(int64_t micros) const;
  };
  using Lanes = std::map<Demand, Lane>;

  void Add(const Demand& demand, const Place& place, Length length = std::nullopt);
  // As it was added. CHECKs that it is there.
  void Remove(const Demand& demand, const Place& place, Length length = std::nullopt);

  // Gives each place the share that `share_of` tells of a lane's job.
  using ShareOf = std::function<int64_t(const Demand& lane, base::JobId job)>;
  void Reshare(const ShareOf& share_of);

  size_t size() const { return size_; }
  const Lanes& lanes() const { return lanes_; }
  // The first of each lane, in the queue's order, with its lane.
  const std::map<Place, const Demand*>& heads() const { return heads_; }
  // The shortest known length of a job that wants at most so many devices.
  Length ShortestOf(int64_t devices) const;

 private:
  void ForgetLength(int64_t devices, int64_t length);

  Lanes lanes_;                           // none is empty
  std::map<Place, const Demand*> heads_;  // into keys of lanes_
  // How many jobs have that length; by devices, then length. None is 0.
  std::map<int64_t, std::map<int64_t, int64_t>> lengths_;
  size_t size_ = 0;
};

}  // namespace trainctl::core
