#include "common/record/foresight.h"

#include <algorithm>

#include "common/job/device.h"
#include "common/job/job_json.h"
#include "common/job/outcome.h"
#include "common/rank/memory_kind.h"
#include "common/rank/reduction.h"
#include "common/record/auto_micro_batch.h"
#include "common/record/summaries.h"

namespace trainctl::record {
namespace {

using job::MemoryByKind;

using Summaries = std::vector<job::MetricSummary>;

double LargestPhase(const job::MemoryEstimate& memory, int64_t MemoryByKind::* kind) {
  int64_t largest = 0;
  for (const MemoryByKind& phase : memory.phases) largest = std::max(largest, phase.*kind);
  return static_cast<double>(largest);
}

// A prediction of time is of a run that is undisturbed.
bool IsUndisturbed(const v1::JobDetail& detail) {
  return job::ParseOutcome(detail.view().outcome()) == job::Outcome::kSucceeded &&
         CountedAttempts(detail) <= 1;
}

// And of its own steps.
bool CountsOwnSteps(const v1::JobDetail& detail) {
  const base::Result<job::JobSpec> job = job::FromJson(detail.job_json());
  const base::Result<job::Inspection> inspection =
      job::InspectionFromJson(detail.inspection_json());
  return !job.ok() ||
         job::CountsOwnSteps(*job, inspection.ok() ? std::optional(*inspection) : std::nullopt);
}

// Where a run was out of memory its peak is where it was stopped, not what it needs.
bool IsCutShort(const v1::JobDetail& detail, const job::MemoryKind& kind) {
  return !kind.is_whole_before_oom &&
         job::IsOutOfMemory(job::ParseOutcome(detail.view().outcome()));
}

// On a CPU slot it is what the whole process holds, of which the model is a part.
bool IsPredicted(const v1::JobDetail& detail, job::Metric metric) {
  if (metric != job::Metric::kMemoryReserved || detail.attempts().empty()) return true;
  return std::ranges::none_of(detail.attempts().rbegin()->ranks(), [](const v1::RankView& rank) {
    return job::ThreadsOfCpuSlot(rank.device_name()).has_value();
  });
}

ForesightRow RowOf(job::Metric metric, double predicted, const Summaries& summaries) {
  const auto measured = job::Reduce(metric, summaries).value_or(job::RunValue());
  const bool is_of_phase = job::Info(metric).reduction == job::Reduction::kLargestPhase ||
                           job::Info(metric).reduction == job::Reduction::kLargestPhaseIfAny;
  return {.metric = &job::Info(metric),
          .predicted = predicted,
          .measured = measured.value,
          .phase = is_of_phase ? measured.note : ""};
}

}  // namespace

std::vector<ForesightRow> ForesightRows(const job::Prediction& prediction,
                                        const v1::JobDetail& detail) {
  const Summaries summaries = SummariesOf(detail);
  std::vector<ForesightRow> rows;
  for (const job::MetricInfo& metric : job::Metrics()) {
    if (metric.section != job::MetricSection::kMemory || !IsPredicted(detail, metric.id)) continue;
    const auto kind = std::ranges::find(job::kMemoryKinds, metric.id, &job::MemoryKind::metric);
    rows.push_back(RowOf(metric.id, LargestPhase(prediction.memory, kind->bytes), summaries));
    rows.back().is_comparable = !IsCutShort(detail, *kind);
  }
  if (prediction.time && IsUndisturbed(detail)) {
    const job::TimeEstimate& time = *prediction.time;
    if (time.start_runs > 0 && time.start_source != job::StartSource::kOtherModels)
      rows.push_back(RowOf(job::Metric::kLoadSeconds, time.load_seconds, summaries));
    if (CountsOwnSteps(detail))
      rows.push_back(RowOf(job::Metric::kTimeSeconds, time.training_seconds, summaries));
  }
  std::erase_if(rows,
                [](const ForesightRow& row) { return row.predicted <= 0 || row.measured <= 0; });
  return rows;
}

Json ForesightRecords(const job::Prediction& prediction, const v1::JobDetail& detail) {
  Json rows = Json::array();
  for (const ForesightRow& row : ForesightRows(prediction, detail)) {
    rows.push_back({{"key", row.metric->name},
                    {"predicted", row.predicted},
                    {"measured", row.measured},
                    {"error", row.is_comparable ? Json(row.error()) : Json(nullptr)}});
  }
  return rows;
}

}  // namespace trainctl::record
