// Keys of the published schema whose feature is not built yet. Such a job is refused by the check
// as "not built yet", never as unknown. When a feature comes, its row in not_yet.cc goes.
#pragma once

#include <string_view>
#include <vector>

#include "common/job/job.h"
#include "common/json/problem.h"

namespace trainctl::job {

struct NotYet {
  std::string_view key;
  bool (*is_asked)(const JobSpec&);
  std::string_view expected;  // what can be asked today
  std::string_view feature;   // "strategy fsdp": is not built yet
};

// One problem for each such key that the job asks for, with path, expected and hint.
std::vector<Problem> FindNotYet(const JobSpec& job);

}  // namespace trainctl::job
