// What the jobs of a lab ask: their notes, which the lab's title is where they have none of their
// own. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/job/job.h"

namespace trainctl::job {

// Each text once, in the order of the jobs; what not all of them have behind the names of those
// that do: "full, lora: Does it pay?".
std::vector<std::string> QuestionsOf(const std::vector<const JobSpec*>& jobs);

}  // namespace trainctl::job
