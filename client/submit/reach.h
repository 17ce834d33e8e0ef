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

// A host whose roots don't hold a path by its name is passed over where another one's do.
Reach FindReach(const job::JobSpec& job, const std::vector<SiteWorker>& workers);

}  // namespace trainctl::client
