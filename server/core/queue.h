// The waiting jobs, in lanes: one lane for each different demand (how many devices, under which constraints), because jobs of one
// lane can be placed exactly when its first can. So a scheduler looks at lanes, never at jobs: 10,000 waiting jobs cost what their few
// demands cost.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/base/ids.h"
#include "common/job/job.h"

namespace trainctl::core {

struct Demand {
  int64_t devices = 1;
  std::map<std::string, std::string> constraints;
  auto operator<=>(const Demand&) const = default;
};

Demand DemandOf(const job::JobSpec& spec);

// In order: higher priority first, then older.
struct Place {
  int64_t priority = 0;
  base::JobId job;
  bool operator<(const Place& other) const { return priority != other.priority ? priority > other.priority : job < other.job; }
  bool operator==(const Place&) const = default;
};

class Queue {
 public:
  using Lanes = std::map<Demand, std::set<Place>>;

  void Add(const job::JobSpec& spec, base::JobId job);
  // CHECKs that it is there.
  void Remove(const job::JobSpec& spec, base::JobId job);

  size_t size() const { return size_; }
  const Lanes& lanes() const { return lanes_; }
  // The first of each lane, in the queue's order, with its lane.
  const std::map<Place, const Demand*>& heads() const { return heads_; }

 private:
  Lanes lanes_;                            // none is empty
  std::map<Place, const Demand*> heads_;   // into keys of lanes_
  size_t size_ = 0;
};

}  // namespace trainctl::core
