// A metric's curves of a job, as few points as a screen shows: what is asked, and the answer.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/result.h"
#include "common/job/outcome.h"
#include "common/record/document.h"
#include "server/web/curve.h"
#include "server/web/target.h"

namespace trainctl::web {

struct CurveQuestion {
  std::string job;
  std::string metric;
  int64_t buckets = 0;
  int64_t first_step = std::numeric_limits<int64_t>::min();
  int64_t last_step = std::numeric_limits<int64_t>::max();

  bool operator==(const CurveQuestion&) const = default;
};
// kInvalid: there is no such metric, or a number is out of bounds.
base::Result<CurveQuestion> CurveQuestionOf(const Target& target);

struct RankCurve {
  std::optional<int64_t> rank;  // null: of the whole gang
  std::optional<job::Phase> phase;
  Curve curve;
};
struct Curves {
  base::JobId job;
  std::string name;  // the job's
  std::string metric;
  std::vector<RankCurve> curves;
  int64_t left_out = 0;             // curves, of a gang of very many ranks
  base::WallMicros started_at = 0;  // of the job's first attempt; 0: not yet
};

// {"job", "name", "metric", "label", "unit", "started_at", "curves": [{"rank", "phase", "count",
// "steps", "times", "values"}], "left_out"}: times in seconds since the epoch; a NaN is null.
record::Json CurvesDocument(const Curves& curves);

}  // namespace trainctl::web
