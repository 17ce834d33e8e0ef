// What a sweep over a seed is told where the seed changes nothing. Pure.
#pragma once

#include <string>
#include <vector>

#include "client/submit/assessment.h"
#include "client/submit/job_file.h"

namespace trainctl::client {

// Of the jobs of a sweep and what each differs in. Empty: no seed varies, or one of the jobs draws
// by it, or may: its model could not be inspected.
std::string SeedNote(const std::vector<Assessment>& assessments,
                     const std::vector<Variant>& variants);

}  // namespace trainctl::client
