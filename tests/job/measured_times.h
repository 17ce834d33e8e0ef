// What a step took of the rows of deploy/recipes/README.md, and of variants on two devices. H200s;
// random tokens, T 512.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "common/estimate/inspection.h"
#include "common/job/job.h"
#include "common/job/job_json.h"

namespace trainctl::job {

inline constexpr const char* kMeasuredDevice = "NVIDIA H200";

// kBefore: of fsdp whose gathers ran on multiprocessors, before copies took their place. Today's
// are shorter, and not measured yet.
enum class Use { kFitted, kHeldOut, kBefore };

struct Measured {
  const char* id;
  double step_seconds;
  Use use = Use::kHeldOut;
  const char* job = "";  // the file that it is a variant of, by `changes`; "": of its own name
  std::vector<Override> changes = {};
  bool holds_gradients = false;
};

inline void PrintTo(const Measured& row, std::ostream* out) { *out << row.id; }

const std::vector<Measured>& MeasuredTable();

// As it was run. Fails the test where the file can't be read.
JobSpec JobOf(const Measured& row);
Inspection InspectionOf(const Measured& row);

}  // namespace trainctl::job
