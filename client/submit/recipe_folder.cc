#include "client/submit/recipe_folder.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "client/shipped_files.h"
#include "common/base/did_you_mean.h"

namespace trainctl::client {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFiles = 10'000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// "single-2" before "single-10".
bool IsBefore(const std::string& a, const std::string& b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!IsDigit(a[i]) || !IsDigit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    const auto run = [](const std::string& text, size_t* at) {
      while (*at < text.size() && text[*at] == '0') ++*at;
      const size_t begin = *at;
      while (*at < text.size() && IsDigit(text[*at])) ++*at;
      return text.substr(begin, *at - begin);
    };
    const std::string x = run(a, &i), y = run(b, &j);
    if (x != y) return x.size() != y.size() ? x.size() < y.size() : x < y;
  }
  return a.size() - i < b.size() - j;
}

base::Result<std::vector<fs::path>> JsonFiles(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end;
       !error && at != end && files.size() < kMostFiles; at.increment(error)) {
    if (at.depth() >= 1) at.disable_recursion_pending();
    if (at->is_regular_file(error) && at->path().extension() == ".json")
      files.push_back(at->path());
  }
  if (error) return base::Error{base::Code::kIo, folder + ": " + error.message()};
  std::sort(files.begin(), files.end());
  return files;
}

std::string FirstProblem(const std::string& text) {
  const size_t begin = text.find('\n') + 1;  // behind "2 problems in …"
  return text.substr(begin, text.find('\n', begin) - begin);
}

// The file as one recipe.
Recipe ReadRecipe(const fs::path& path) {
  Recipe recipe{.id = path.stem().string(), .path = path.string()};
  base::Result<JobFile> file = OpenJobFile({.path = path.string()});
  if (!file.ok()) {
    recipe.problem = FirstProblem(file.error().message);
    return recipe;
  }
  if (!file->is_lab) recipe.id = file->jobs.front().name;
  recipe.jobs = std::move(file->jobs);
  return recipe;
}

}  // namespace

base::Result<std::string> FindRecipeFolder(const Surroundings& surroundings,
                                           const std::string& named) {
  std::vector<std::string> places = ShippedPlaces(surroundings, "recipes");
  if (!surroundings.environment_recipes.empty()) places = {surroundings.environment_recipes};
  if (!named.empty()) places = {named};
  std::string looked;
  for (const std::string& place : places) {
    const std::string folder = fs::path(place).lexically_normal().string();
    std::error_code error;
    if (fs::is_directory(folder, error)) return folder;
    looked += (looked.empty() ? "" : ", ") + folder;
  }
  return base::Error{
      base::Code::kNotFound,
      "no recipes in " + looked + ": name a folder of job files with --dir or TRAINCTL_RECIPES"};
}

base::Result<std::vector<Recipe>> ReadRecipes(const std::string& folder) {
  const base::Result<std::vector<fs::path>> files = JsonFiles(folder);
  if (!files.ok()) return files.error();
  std::vector<Recipe> recipes;
  std::set<std::string> ids;
  for (const fs::path& path : *files) {
    recipes.push_back(ReadRecipe(path));
    ids.insert(recipes.back().id);
  }
  for (size_t i = 0, count = recipes.size(); i < count; ++i) {
    if (recipes[i].jobs.size() < 2) continue;
    for (const job::JobSpec& job : std::vector(recipes[i].jobs)) {
      if (ids.insert(job.name).second)
        recipes.push_back(
            {.id = job.name, .path = recipes[i].path, .experiment = job.name, .jobs = {job}});
    }
  }
  std::stable_sort(recipes.begin(), recipes.end(),
                   [](const Recipe& a, const Recipe& b) { return IsBefore(a.id, b.id); });
  return recipes;
}

base::Result<Recipe> FindRecipe(const std::vector<Recipe>& recipes, const std::string& id) {
  std::vector<std::string_view> ids;
  for (const Recipe& recipe : recipes) {
    if (recipe.id == id) return recipe;
    ids.push_back(recipe.id);
  }
  const std::string hint = base::DidYouMean(id, ids);
  return base::Error{base::Code::kNotFound,
                     base::WithHint("no recipe '" + id + "'", hint, "trainctl recipes lists them")};
}

}  // namespace trainctl::client
