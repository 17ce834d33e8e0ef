#include "client/show/profile.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "client/show/format.h"
#include "common/rank/reduction.h"
#include "common/rank/step_kind.h"
#include "common/record/summaries.h"

namespace trainctl::client {
namespace {

using Summaries = std::vector<job::MetricSummary>;

// Of one metric, over ranks.
struct OverRanks {
  double least = 0, mean = 0, most = 0;
  int64_t ranks = 0;
  int64_t steps = 0;  // of each rank
};

OverRanks OverRanksOf(job::Metric metric, const Summaries& summaries) {
  OverRanks over;
  for (const job::MetricSummary& summary : summaries) {
    if (summary.name != job::Name(metric) || summary.count == 0) continue;
    const double mean = summary.mean();
    over.least = over.ranks == 0 ? mean : std::min(over.least, mean);
    over.most = over.ranks == 0 ? mean : std::max(over.most, mean);
    over.mean += mean;
    over.steps = std::max(over.steps, summary.count);
    ++over.ranks;
  }
  if (over.ranks > 0) over.mean /= static_cast<double>(over.ranks);
  return over;
}

std::string Print(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string Share(double seconds, double whole) {
  return whole > 0 ? Print("%.1f %%", 100 * seconds / whole) : "";
}

TextTable TableOfKinds(const Summaries& summaries, const OverRanks& step) {
  std::vector<TextColumn> columns = {{"TIME IN"}, {"A STEP", true}, {"SHARE", true}};
  if (step.ranks > 1) {
    columns.push_back({"LEAST OF RANKS", true});
    columns.push_back({"MOST OF RANKS", true});
  }
  TextTable table(columns);
  const auto add = [&](job::Metric metric) {
    const OverRanks of = OverRanksOf(metric, summaries);
    std::vector<TextCell> cells = {std::string(job::Info(metric).label),
                                   FormatWithUnit(of.mean, "s"), Share(of.mean, step.mean)};
    if (step.ranks > 1) {
      cells.emplace_back(FormatWithUnit(of.least, "s"));
      cells.emplace_back(FormatWithUnit(of.most, "s"));
    }
    table.AddRow(std::move(cells));
  };
  for (const job::Metric metric : job::kStepKindMetrics) add(metric);
  add(job::Metric::kProfileStep);
  return table;
}

// "Profile: 3 steps of each of 2 ranks, slower …". Of few steps the mean may be below the median.
std::string Heading(const Summaries& summaries, const OverRanks& step) {
  std::string text = "Profile: " + Plural(step.steps, "step");
  if (step.ranks > 1) text += " of each of " + std::to_string(step.ranks) + " ranks";
  const auto median = job::Reduce(job::Metric::kStepSeconds, summaries);
  if (!median) return text;
  text += step.mean > median->value ? ", slower for being traced: " : "; ";
  text += "the median of all steps is " + FormatWithUnit(median->value, "s");
  return text;
}

}  // namespace

std::string ProfileText(const v1::JobDetail& detail, const TableLayout& layout) {
  const Summaries summaries = record::SummariesOf(detail);
  const OverRanks step = OverRanksOf(job::Metric::kProfileStep, summaries);
  if (step.ranks == 0) return "";
  return "\n" + Heading(summaries, step) + "\n" + TableOfKinds(summaries, step).Render(layout);
}

std::string ProfileMarkdown(const v1::JobDetail& detail) {
  const Summaries summaries = record::SummariesOf(detail);
  const OverRanks step = OverRanksOf(job::Metric::kProfileStep, summaries);
  if (step.ranks == 0) return "";
  return "\n## Profile\n\n" + Heading(summaries, step) + ".\n\n" +
         TableOfKinds(summaries, step).Markdown();
}

}  // namespace trainctl::client
