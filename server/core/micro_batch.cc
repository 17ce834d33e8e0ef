#include "server/core/micro_batch.h"

#include <optional>
#include <string>

#include "common/base/check.h"
#include "common/estimate/memory_estimate.h"
#include "common/estimate/micro_batch_choice.h"
#include "common/estimate/prediction.h"

namespace trainctl::core {
namespace {

// The job's own prediction with the memory of another spec.
std::optional<job::Prediction> PredictionOf(const job::JobSpec& spec, const JobRow& row,
                                            job::DeviceKind kind) {
  std::optional<job::Prediction> prediction = row.prediction;
  if (row.inspection && prediction)
    prediction->memory = job::EstimateMemory(spec, *row.inspection, kind);
  return prediction;
}

}  // namespace

UpdateSpec SmallerMicroBatch(const Job& job, job::DeviceKind kind) {
  std::optional<job::JobSpec> smaller = job::WithSmallerMicroBatch(job.row.spec);
  CHECK(smaller.has_value()) << base::ToString(job.row.id) << " has no smaller micro batch";
  std::optional<job::Prediction> prediction = PredictionOf(*smaller, job.row, kind);
  return {job.row.id, *std::move(smaller), std::move(prediction)};
}

}  // namespace trainctl::core
