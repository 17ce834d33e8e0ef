// Metrics: the one table that says all about each, their points, and what is kept of a run's
// points. A metric is a row of the table in metric.cc; everybody else asks the row. To add one: its
// enumerator here, its row there, and the line that measures it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "common/job/outcome.h"

namespace trainctl::job {

// In the order of `compare`; behind them those that it does not show.
enum class Metric {
  kTimeSeconds,
  kTrialSeconds,
  kLoadSeconds,
  kEvaluationSeconds,
  kCheckpointSeconds,
  kSaveSeconds,  // from the last step on: of what was under way too
  kDataWaitSeconds,
  kStepSeconds,
  kSamples,
  kSkippedRows,
  kSamplesPerSecond,
  kTokensPerSecond,
  kTrainedTokensPerSecond,
  kMemoryPeakAllocated,
  kMemoryReserved,
  kMemoryParams,
  kMemoryGrads,
  kMemoryOptimizer,
  kMemoryOptimizerCpu,
  kMemoryOther,
  kGpuUtilization,
  kGpuPower,
  kGpuEnergy,
  kHostCpu,
  kLoss,
  kValLoss,
  kProfileStep,
  kProfileMatmul,
  kProfileAttention,
  kProfileOptimizer,
  kProfileOther,
  kProfileCommunication,
  kProfileCopies,
  kProfileData,
  kProfileHost,
  kLr,
  kGradNorm,
  kTokens,
  kTrainedTokens,
  kMemoryAllocated,
  kGpuMemoryUsed,
  kGpuTemperature,
  kHostMemoryUsed,
  kRankCpu,
  kRankMemoryUsed,
  kWorkSeconds,
};

// Whose a point is: of the whole gang, as rank 0 reports it, or of the rank that reports it.
enum class Scope { kGang, kRank };

// How the points of a run become its one value (reduction.h).
enum class Reduction {
  kLatest,             // the newest; the worst rank's
  kMedian,             // of the steps but the first, which allocates and compiles; none of one
  kTotal,              // the sum of `of`
  kRate,               // the sum of `of` over the time of the training loop
  kWorstRank,          // the most that any rank had, with the spread over ranks
  kLargestPhase,       // the most of any rank and phase
  kLargestPhaseIfAny,  // no value for zero: of what most jobs do not have
  kMean,               // over samples and ranks, with each rank's own
  kCounter,            // grows from 0 at the job's start, over all attempts; summed over ranks
};

// Where compare shows it.
enum class MetricSection { kNone, kTime, kMemory, kDevice, kLoss, kProfile };

enum class Better { kLower, kHigher, kNeither };

// A picture of curves on a job's page. Metrics of one place share it.
struct Chart {
  int place = 0;                       // on the page, from 1; 0: it is not drawn there
  std::string_view title = {};         // for people
  Phase phase = Phase::kAfterForward;  // of points that have one: whose are drawn there
};

struct MetricInfo {
  Metric id;
  std::string_view name;   // the key in `compare`, `metrics` and every export
  std::string_view unit;   // "", "s", "tokens/s", "bytes", "%", "W", "J", "°C"
  std::string_view label;  // for people
  Scope scope;
  Reduction reduction;
  MetricSection section = MetricSection::kNone;
  Better better = Better::kNeither;
  Metric of = id;            // what kTotal and kRate sum up
  Chart chart = {};          // where the dashboard draws it
  bool is_of_trial = false;  // measured before the first step: a rewind takes none of it back
};

std::span<const MetricInfo> Metrics();
const MetricInfo& Info(Metric metric);
// nullptr: no metric that this version knows.
const MetricInfo* FindMetric(std::string_view name);

std::string_view Name(Metric metric);
std::string_view Name(MetricSection section);  // "time"; of kNone empty

struct MetricPoint {
  std::string name;
  int64_t step = 0;             // optimizer step, from 0
  std::optional<int64_t> rank;  // null: of the whole gang
  std::optional<Phase> phase;   // of memory points
  double value = 0;
  base::WallMicros time = 0;
};

// Of one run, metric, rank and phase, as it is kept at ingestion: one value a step, of the latest
// attempt that reached it. NaN values are counted in no number but `latest`.
struct MetricSummary {
  std::string name;
  std::optional<int64_t> rank;
  std::optional<Phase> phase;
  double latest = 0;  // of the highest step
  double min = 0;
  double max = 0;
  double total = 0;
  int64_t count = 0;             // a summary of none is ignored
  std::optional<double> median;  // of kMedian metrics, where somebody has looked at the points

  double mean() const { return count > 0 ? total / static_cast<double>(count) : 0; }
};

}  // namespace trainctl::job
