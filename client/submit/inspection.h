// What submit asks before it submits: the site's devices, and what model and data look like from
// there. Neither is needed to submit; what can't be had is warned of.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/context.h"
#include "client/submit/assessment.h"

namespace trainctl::client {

// Warns where there is no coordinator or it does not answer; then nothing is known of the site.
Site AskSite(Context& context);

// nullopt: of an older coordinator.
std::optional<SiteBounds> BoundsOf(const v1::WorkersResponse& response);

// Asks once for all jobs that have model and data in common, as the experiments of a lab mostly
// have: a worker through the coordinator, or, where none answers, the trainworker beside this
// binary. Not thread-safe.
class Inspector {
 public:
  Inspector(Context& context, bool coordinator_answers)
      : context_(context), coordinator_answers_(coordinator_answers) {}

  // kInvalid: a worker looked, and can't read model, data or output.dir. Other errors: nobody could
  // look.
  base::Result<job::Inspection> Inspect(const job::JobSpec& job);

 private:
  base::Result<job::Inspection> AskWorker(const job::JobSpec& job);
  base::Result<job::Inspection> AskLocally(const job::JobSpec& job);

  Context& context_;
  bool coordinator_answers_;
  // By what an inspection depends on.
  std::map<std::string, base::Result<job::Inspection>> answers_;
};

// Asks the coordinator for earlier runs of the same shapes. Predicts the time of each assessment
// whose model was inspected. Returns what the site's devices draw, as far as runs have measured it.
std::vector<job::DevicePower> PredictTimes(Context& context, std::vector<Assessment>* assessments);

}  // namespace trainctl::client
