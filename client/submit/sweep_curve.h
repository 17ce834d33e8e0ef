// What came of a sweep: time and memory over the varied settings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/show/output.h"
#include "client/submit/sweep_points.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

struct SweepResult {
  const SweepPoint* point = nullptr;
  std::string id;  // of the job; empty: not submitted
  std::string
      outcome;  // SUCCEEDED, OOM_GPU, …; of a point that was not submitted "refused" or "skipped"
  std::optional<double> step_seconds, samples_per_second, tokens_per_second, peak_bytes;
  std::optional<double> loss, val_loss;
  std::optional<double> predicted_step_seconds, predicted_peak_bytes;
};

// What the columns mean, below the table.
inline constexpr std::string_view kCurveDefinitions =
    "s/step: the median, without the first step. tokens/s: all of the run over its training time.\n"
    "loss: in training, of the last step.\n"
    "peak: allocated, of the worst rank; a run that ended out of memory has none to compare.\n";

// Takes the measurements out of the comparison, by job.
void TakeMeasurements(const v1::CompareResponse& comparison, std::vector<SweepResult>* results);

// A row a point: settings, outcome, tokens a second, loss, and bars. Seconds a step and peak are
// shown as measured and as predicted.
Listing CurveOf(const Sweep& sweep, const std::vector<SweepResult>& results);

}  // namespace trainctl::client
