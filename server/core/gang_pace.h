// Which ranks of a live attempt are slower than its others. Ranks of a gang step together: a slow
// one shows in no step's time, but in its own work (work_seconds) of steps that others wait in.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/rank/metric.h"

namespace trainctl::core {

struct SlownessPolicy {
  double ratio = 1.25;           // of a rank's own work to the median of the others'
  double least_seconds = 0.005;  // that it works longer; less is the host's noise
  int64_t steps = 20;            // in a row: rows of one step differ in length
};

class GangPace {
 public:
  // Of so many steps: slow in all of them in a row, or keeping up in them and slow in none between.
  // A step that is longer by the ratio, but not by the least seconds, shows neither.
  struct Verdict {
    int64_t rank = 0;
    bool slow = false;
    double ratio = 1;    // of its work in them to the others'
    int64_t number = 1;  // of the rank's verdicts, its first slow one being 1; 0 ahead of it
  };

  // A point of work_seconds that the rank has told; others are passed over. Of each rank a verdict
  // comes once, and again where it has changed. Steps of which a rank says nothing don't count.
  std::vector<Verdict> Add(int64_t rank, size_t ranks, const job::MetricPoint& point,
                           const SlownessPolicy& policy);
  // The rank's verdict does not count any more: the same one comes again after as many steps.
  void Forget(int64_t rank);

 private:
  using Step = std::map<int64_t, double>;  // seconds by rank
  struct Streak {
    bool slow = false;
    std::optional<bool> last;  // what the rank's last verdict said
    int64_t last_number = 0;   // of that one
    int64_t steps = 0;
    double work = 0, others = 0;  // seconds
  };

  std::vector<Verdict> Judge(const Step& step, const SlownessPolicy& policy);

  std::map<int64_t, Step> steps_;  // of which some ranks have told
  std::map<int64_t, Streak> streaks_;
};

}  // namespace trainctl::core
