// The one value of a run, of each metric: what compare, describe, status, exports, sweeps and
// predictions show. Nobody else reduces summaries. Pure, thread-safe.
//
// For every run, whatever its attempts: samples = samples_per_second × time_seconds, and as well
// for tokens, since each is made of the same steps.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/rank/metric.h"

namespace trainctl::job {

struct RunValue {
  double value = 0;
  std::string note;  // the spread over ranks, the phase: for people
};

// nullopt: it was never measured, or only in a first step that says nothing of the others.
std::optional<RunValue> Reduce(Metric metric, std::span<const MetricSummary> summaries);

// What stands for a series' points on average: of a rate its total over the time of the loop, of
// a counter where it stands.
double Average(const MetricSummary& summary, std::span<const MetricSummary> summaries);

// The middle one of the values, or the mean of the two in the middle; nullopt of none.
std::optional<double> Median(std::vector<double> values);

// Steps that this run has trained itself, without those that it took over from a checkpoint.
int64_t StepsTrained(std::span<const MetricSummary> summaries);

}  // namespace trainctl::job
