// A sweep: the settings that are varied, and one job for each combination of their values. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/submit/job_file.h"
#include "common/base/result.h"

namespace trainctl::client {

struct SweepAxis {
  std::string key;                  // "train.micro_batch_size"
  std::vector<std::string> values;  // as typed, several
};

struct SweepPoint {
  std::vector<std::string> values;  // one an axis
  job::JobSpec job;
  // As it was shown before; nullopt: as the site predicts it when it is submitted.
  std::optional<double> predicted_step_seconds = {};
};

struct Sweep {
  std::string name;  // of the base job
  std::vector<SweepAxis> axes;
  std::vector<SweepPoint> points;  // the last axis varies fastest
  std::vector<std::string> notes;
};

// "1,2,4" is three values; commas within brackets and quotes belong to a value.
std::vector<std::string> SplitValues(const std::string& text);

// Takes those out that have several values. Those of name, notes and tags are texts, and stay.
std::vector<job::Override> TakeAxes(std::vector<job::Override>* overrides);

// Plans the points of a file's text with one job. Of the matrix those with several values are the
// axes, and the others are overrides. The global batch stays if the micro batch varies and no
// override says what the batch is. Each point then has the global batch that the file's own micro
// batch has: accumulation adapts. Points are named by what they differ in, each otherwise.
// kInvalid, with the place: nothing varies; too many points; a value twice or empty; a key twice; a
// fault of the file or of a value.
base::Result<Sweep> PlanSweep(const std::string& text, const JobFileOptions& options,
                              const std::vector<job::Override>& matrix);

// What it submits.
JobFile FileOf(const Sweep& sweep);

}  // namespace trainctl::client
