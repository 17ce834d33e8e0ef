// The waiting jobs, in lanes: one lane for each different demand (how many devices, of which kind).
// Jobs of one lane can be placed exactly when its first can. So a scheduler looks at lanes, never
// at jobs: 10,000 waiting jobs cost what their few demands cost. A short job may go before a job
// that waits (holds.h): a lane finds those of known length by it. Where users have quotas each has
// lanes of their own. Those that differ in nothing else are of one kind.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/estimate/inspection.h"
#include "common/job/job.h"

namespace trainctl::core {

struct Job;

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
  bool pauses = false;         // after a failure (retry.h)
  std::string avoids;          // workers where it failed (retry.h)
  std::string rules;           // what rules of hosts say of it (reach.h); empty: nothing against it
  auto operator<=>(const Demand&) const = default;
};

// The memory is estimated where there is an inspection.
Demand DemandOf(const job::JobSpec& spec, const std::optional<job::Inspection>& inspection);

// In order: higher priority first, then the smaller share, then older.
struct Place {
  int64_t priority = 0;
  base::JobId job;
  int64_t share = 0;  // fair_share.h; 0 of all jobs where the site has no fair share
  bool operator<(const Place& other) const {
    if (priority != other.priority) return priority > other.priority;
    return share != other.share ? share < other.share : job < other.job;
  }
  bool operator==(const Place&) const = default;
};

// A share before all others.
inline constexpr int64_t kLifted = -1;

class Queue {
 public:
  using Length = std::optional<int64_t>;  // of a run, at most, in microseconds; nullopt: not known

  struct Lane;
  struct Waiting {
    Length length;
    Job* job = nullptr;  // as it was added
  };
  // The first job of a lane.
  struct Head {
    const Lane* lane = nullptr;
    Length length;
    Job* job = nullptr;
  };
  using Heads = std::map<Place, Head>;  // in the queue's order
  // Lanes that differ in their owner only: what one of them could use, all of them could.
  struct Kind {
    const Demand* demand = nullptr;  // without an owner
    size_t number = 0;               // below Queue::kind_numbers; that of one that is gone is
                                     // given again
    Heads heads;                     // never empty
    // Lanes with jobs behind their first, by the shortest known length of any of their jobs.
    std::set<std::pair<int64_t, const Lane*>> by_shortest;
  };
  // Who has a quota, and has had jobs here.
  struct User {
    std::string name;
    size_t number = 0;  // from 0
    int64_t share = 0;  // as Reshare was told last
    Heads heads;        // of their lanes, by their places among each other
  };
  struct Lane {
    const Demand* demand = nullptr;
    Kind* kind = nullptr;
    User* user = nullptr;  // null: its jobs have no quota
    int64_t share = 0;     // of the user
    // Never empty. Those of one user have no share of their own, or are lifted (Whole).
    std::map<Place, Waiting> jobs;
    std::map<int64_t, std::set<Place>> by_length;  // of known length; no set is empty

    // A place of `jobs` as it is in the queue's order.
    Place Whole(Place place) const;
    // The first whose run is at most so long.
    std::optional<Place> FirstWithin(int64_t micros) const;
    // Its place in Kind::by_shortest; nullopt: it has none.
    Length ShortestOfSeveral() const;
  };
  using Lanes = std::map<Demand, Lane>;

  // The job stays where it is for as long as it is here.
  void Add(const Demand& demand, const Place& place, Length length = std::nullopt,
           Job* job = nullptr);
  // As it was added. CHECKs that it is there.
  void Remove(const Demand& demand, const Place& place, Length length = std::nullopt);

  // Gives each job its new share: of its lane's user, else of its own.
  using ShareOfUser = std::function<int64_t(const std::string& user)>;
  using ShareOfJob = std::function<int64_t(base::JobId job)>;
  void Reshare(const ShareOfUser& share_of_user, const ShareOfJob& share_of_job);

  size_t size() const { return size_; }
  const Lanes& lanes() const { return lanes_; }
  const std::map<Demand, Kind>& kinds() const { return kinds_; }
  size_t kind_numbers() const { return kind_numbers_; }
  // By the first of their heads.
  const std::map<Place, const Kind*>& kinds_in_order() const { return firsts_; }
  // How many users ever had jobs under a quota here.
  size_t users() const { return users_.size(); }
  // nullptr: none yet.
  const User* FindUser(const std::string& name) const;
  // The shortest known length of a job that wants at most so many devices.
  Length ShortestOf(int64_t devices) const;

 private:
  Lane& FindLane(const Demand& demand);
  Kind& FindKind(const Demand& demand);
  void ForgetKind(const Kind& kind);
  void ShowHead(const Lane& lane);
  void HideHead(const Lane& lane);
  void ForgetLength(int64_t devices, int64_t length);
  static void MoveByShortest(const Lane& lane, Length before);

  // Nodes of these stay where they are: they point to each other.
  Lanes lanes_;
  std::map<Demand, Kind> kinds_;
  size_t kind_numbers_ = 0;
  std::vector<size_t> vacant_numbers_;
  std::map<std::string, User> users_;
  std::map<Place, const Kind*> firsts_;
  // How many jobs have that length; by devices, then length. None is 0.
  std::map<int64_t, std::map<int64_t, int64_t>> lengths_;
  size_t size_ = 0;
};

}  // namespace trainctl::core
