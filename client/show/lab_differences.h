// What a run trained otherwise than its lab says. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/job/job.h"

namespace trainctl::client {

// "train.max_steps 10", as the run has it; "lora.r null" of what it lacks. Names, notes, outputs
// and what is expected do not count; of resources the memory limit alone does. Of paths it is the
// last part: everybody has a copy of their own. What the lab leaves to `auto` may be anything.
std::vector<std::string> DifferencesFromLab(const job::JobSpec& lab, const job::JobSpec& run);

}  // namespace trainctl::client
