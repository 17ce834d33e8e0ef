#include "common/record/memory_record.h"

#include <algorithm>
#include <cmath>

#include "common/estimate/memory_estimate.h"
#include "common/job/job_json.h"

namespace trainctl::record {
namespace {

std::optional<int64_t> MostMeasured(const v1::JobDetail& detail, job::Metric metric,
                                    job::Phase phase) {
  std::optional<int64_t> most;
  for (const v1::MetricSummary& summary : detail.summaries()) {
    if (summary.name() != job::Name(metric) || job::ParsePhase(summary.phase()) != phase ||
        !std::isfinite(summary.max()))
      continue;
    most = std::max(most.value_or(0), static_cast<int64_t>(summary.max()));
  }
  return most;
}

Json OrNull(const std::optional<int64_t>& bytes) { return bytes ? Json(*bytes) : Json(nullptr); }

}  // namespace

std::vector<MemoryRow> MemoryRows(const v1::JobDetail& detail) {
  const base::Result<job::MemoryEstimate> prediction =
      job::MemoryEstimateFromJson(detail.prediction_json());
  std::vector<MemoryRow> rows;
  for (const job::MemoryKind& kind : job::kMemoryKinds) {
    for (size_t i = 0; i < std::tuple_size_v<decltype(job::MemoryEstimate::phases)>; ++i) {
      MemoryRow row{.kind = &kind, .phase = static_cast<job::Phase>(i)};
      row.measured = MostMeasured(detail, kind.metric, row.phase);
      if (prediction.ok()) row.predicted = prediction->phases[i].*kind.bytes;
      if (row.measured || row.predicted) rows.push_back(row);
    }
  }
  return rows;
}

std::optional<int64_t> MemoryLimit(const v1::JobDetail& detail,
                                   std::optional<int64_t> device_bytes) {
  const base::Result<job::JobSpec> job = job::FromJson(detail.job_json());
  if (!job.ok() || !job->resources.gpu_memory_limit_bytes) return device_bytes;
  const int64_t own = *job->resources.gpu_memory_limit_bytes;
  return std::min(own, device_bytes.value_or(own));
}

Json MemoryRecord(const MemoryRow& row) {
  Json error = nullptr;
  if (row.predicted && row.measured.value_or(0) > 0) {
    error =
        static_cast<double>(*row.predicted - *row.measured) / static_cast<double>(*row.measured);
  }
  return {{"kind", row.kind->name},
          {"phase", Name(row.phase)},
          {"predicted_bytes", OrNull(row.predicted)},
          {"measured_bytes", OrNull(row.measured)},
          {"error", error}};
}

}  // namespace trainctl::record
