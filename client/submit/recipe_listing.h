// Recipes as rows for people, with the user's own runs of them. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/show/output.h"
#include "client/submit/lab_runs.h"
#include "client/submit/recipe_folder.h"

namespace trainctl::client {

using LabRunsByName = std::map<std::string, LabRun>;  // of one user, by experiment

LabProgress ProgressOf(const std::vector<job::JobSpec>& jobs, const LabRunsByName& own);

// Without a run of theirs there is no column for them.
Listing ListRecipes(const std::vector<Recipe>& recipes, const LabRunsByName& own);

// The experiments of one recipe. `times` are predicted seconds, by experiment, as far as known.
// `refused`: what the site would refuse.
Listing ListExperiments(const Recipe& recipe, const LabRunsByName& own,
                        const std::map<std::string, double>& times,
                        const std::set<std::string>& refused);

}  // namespace trainctl::client
