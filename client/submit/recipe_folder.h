// The job and lab files that come with trainctl: every *.json directly in a folder, or one folder
// below it. A job's id is its name, a lab's the file's name without .json; experiments of a lab
// that have no file of their own are recipes too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/context.h"
#include "client/submit/job_file.h"
#include "common/job/job.h"

namespace trainctl::client {

struct Recipe {
  std::string id;
  std::string path;                // of its file
  std::string experiment;          // of a lab, which the file is; empty: the whole file
  std::vector<job::JobSpec> jobs;  // several: a lab; none: see problem
  std::string problem;             // why the file is no job that can be submitted, in one line
};

// --dir, TRAINCTL_RECIPES, or beside the program: deploy/recipes of the checkout it was built in,
// or share/trainctl/recipes. kNotFound: the message lists where was looked.
base::Result<std::string> FindRecipeFolder(const Surroundings& surroundings,
                                           const std::string& named);

// By id, numbers in it as numbers. kIo: the folder can't be read.
base::Result<std::vector<Recipe>> ReadRecipes(const std::string& folder);

// kNotFound with a did-you-mean.
base::Result<Recipe> FindRecipe(const std::vector<Recipe>& recipes, const std::string& id);

}  // namespace trainctl::client
