// The workers that a job may go to by their hosts' rules, as the coordinator decides it
// (server/core/reach.h). Pure.
#pragma once

#include <string>
#include <vector>

#include "client/submit/assessment.h"

namespace trainctl::client {

struct Reach {
  std::vector<SiteWorker> workers;
  // Why the others are none of them: "b: data.path: /x lies outside of …; nor on 2 other hosts".
  // Empty: rules keep the job from none.
  std::string barred;
};

// What the rules of the worker's host say of the job, as job::CheckByName has it.
base::Status CheckRules(const job::JobSpec& job, const SiteWorker& worker);

Reach FindReach(const job::JobSpec& job, const std::vector<SiteWorker>& workers);

}  // namespace trainctl::client
