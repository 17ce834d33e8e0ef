// The rows of deploy/recipes/README.md, and which of them constants of step_time.cc and
// device_rates.cc are fitted to.
// Random tokens, T 512; of BLIP-2 the shipped pictures with captions. What a step took and its peak
// of memory are read from there.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "common/estimate/inspection.h"
#include "common/job/job.h"
#include "common/job/job_json.h"

namespace trainctl::job {

inline constexpr const char *kH200 = "NVIDIA H200", *kH100 = "NVIDIA H100 80GB HBM3";

// kBefore: of fsdp whose gathers ran on multiprocessors, before copies took their place. Today's
// are shorter, and not measured yet.
enum class Use { kFitted, kHeldOut, kBefore };

struct Measured {
  const char* id;
  Use use = Use::kHeldOut;
  const char* job = "";  // the file that it is a variant of, by `changes`; "": of its own name
  std::vector<Override> changes = {};
  bool holds_gradients = false;
  std::string device = kH200;
  double step_seconds = 0;  // as measured; 0: it ran out of memory
  double peak_gib = 0;      // as measured; 0: not told
};

inline void PrintTo(const Measured& row, std::ostream* out) { *out << row.id; }

const std::vector<Measured>& MeasuredTable();
// Those that made steps. Of two that are one job, one.
const std::vector<Measured>& TimedRows();

// As it was run. Fails the test where the file can't be read.
JobSpec JobOf(const Measured& row);
Inspection InspectionOf(const Measured& row);
double PredictedSeconds(const Measured& row);

}  // namespace trainctl::job
