// The page of recipes tells predictions as they are, and the peaks of memory that were measured
// hold them.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "common/estimate/memory_estimate.h"
#include "tests/job/gib.h"
#include "tests/job/measured_times.h"
#include "tests/job/recipe_rows.h"

namespace trainctl::job {
namespace {

constexpr double kMostOff = 0.03;    // of a predicted peak, as the page says
constexpr double kMostBelow = 0.01;  // a job would run out of memory

double PredictedGib(const Measured& row) {
  const MemoryEstimate estimate =
      EstimateMemory(JobOf(row), InspectionOf(row), DeviceKind::kCuda, row.holds_gradients);
  return static_cast<double>(estimate.peak_allocated) / static_cast<double>(kGiB);
}

std::string Number(double value, int decimals) {
  std::array<char, 32> text = {};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

std::string Percent(double share) {
  std::array<char, 32> text = {};
  std::snprintf(text.data(), text.size(), "%+.1f %%",
                std::round(1000 * share) / 10 + 0.0);  // never "-0.0 %"
  return text.data();
}

// The cells that tell the predictions. Times of kBefore stay: they are as it was predicted then.
RecipeRow Told(const Measured& row, RecipeRow told) {
  const bool made_steps = told.step_seconds > 0;
  if (row.use != Use::kBefore) {
    told.predicted = Number(PredictedSeconds(row), told.decimals);
    told.error = made_steps ? Percent(PredictedSeconds(row) / told.step_seconds - 1) : "";
  }
  if (told.peak_gib > 0) {
    told.predicted_peak = Number(PredictedGib(row), 2);
    told.error_of_memory = made_steps ? Percent(PredictedGib(row) / told.peak_gib - 1) : "";
  }
  return told;
}

TEST(RecipePage, TellsThePredictionsAsTheyAre) {
  std::map<std::string, const Measured*> rows;
  for (const Measured& row : MeasuredTable()) rows[row.id] = &row;
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    WriteRecipeRows([&](const std::string& id, const RecipeRow& told) {
      return rows.contains(id) ? Told(*rows.at(id), told) : told;
    });
  }
  for (const auto& [id, told] : ReadRecipeRows()) {
    if (!rows.contains(id)) continue;
    const RecipeRow expected = Told(*rows.at(id), told);
    EXPECT_EQ(told.predicted, expected.predicted) << id;
    EXPECT_EQ(told.error, expected.error) << id;
    EXPECT_EQ(told.predicted_peak, expected.predicted_peak) << id;
    EXPECT_EQ(told.error_of_memory, expected.error_of_memory)
        << id << ": run with UPDATE_GOLDEN=1 to write it anew";
  }
}

TEST(RecipePage, EveryRowIsCompared) {
  std::set<std::string> ids;
  for (const auto& [id, row] : ReadRecipeRows()) ids.insert(id);
  for (const Measured& row : MeasuredTable()) ids.erase(row.id);
  EXPECT_EQ(ids, std::set<std::string>());
}

TEST(RecipePage, PeaksArePredictedWithinThreePercent) {
  int rows = 0;
  for (const Measured& row : MeasuredTable()) {
    if (row.peak_gib == 0 || row.step_seconds == 0) continue;
    const double error = PredictedGib(row) / row.peak_gib - 1;
    EXPECT_LT(error, kMostOff) << row.id;
    EXPECT_GT(error, -kMostBelow) << row.id;
    ++rows;
  }
  EXPECT_GT(rows, 70) << "the page lost rows, or their peaks";
}

}  // namespace
}  // namespace trainctl::job
