// Curves of a run that trains, for TensorBoard: an event file in output.dir/tensorboard, one an
// attempt, which `tensorboard --logdir` follows. Not thread-safe.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/result.h"
#include "common/rank/metric.h"
#include "common/rank/rank_plan.h"

namespace trainctl::train {

class EventFile {
 public:
  // Of a run that goes on with first_step. kIo names the path.
  static base::Result<EventFile> Make(const job::RankPlan& plan, int64_t first_step,
                                      base::WallMicros now);

  // kIo: the file takes no more, and nothing is to be added behind it.
  base::Status Add(const std::vector<job::MetricPoint>& points);

 private:
  explicit EventFile(std::string path);
  base::Status Write(const std::string& events);

  std::string path_;
  std::ofstream file_;
};

}  // namespace trainctl::train
