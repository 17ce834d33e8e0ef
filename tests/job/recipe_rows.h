// The tables of deploy/recipes/README.md that tell what a step took and the peak of its memory,
// measured and predicted.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace trainctl::job {

struct RecipeRow {
  double step_seconds = 0;      // "s/step"; 0: it ran out of memory
  int decimals = 3;             // that it is told with
  std::string predicted;        // "predicted s/step", or "predicted"
  std::string error;            // "error of the time"
  double peak_gib = 0;          // "measured peak"; 0: the table has none
  std::string predicted_peak;   // "predicted peak", GiB
  std::string error_of_memory;  // "error"
};

// By id, without what stands behind it in the first cell. Of equal ids the first table's.
std::map<std::string, RecipeRow> ReadRecipeRows();

// Writes the predicted cells of those rows anew, as the function has them.
void WriteRecipeRows(const std::function<RecipeRow(const std::string& id, RecipeRow row)>& change);

}  // namespace trainctl::job
