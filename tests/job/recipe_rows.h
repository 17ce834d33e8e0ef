// The tables of deploy/recipes/README.md that tell what a step took, measured and predicted.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace trainctl::job {

struct RecipeRow {
  double step_seconds = 0;  // "s/step"
  int decimals = 3;         // that it is told with
  std::string predicted;    // "predicted s/step", or "predicted"
  std::string error;        // "error of the time"
};

// By id, without what stands behind it in the first cell. Of equal ids the first table's.
std::map<std::string, RecipeRow> ReadRecipeRows();

// Writes the predicted cells of those rows anew, as the function has them.
void WriteRecipeRows(const std::function<RecipeRow(const std::string& id, RecipeRow row)>& change);

}  // namespace trainctl::job
