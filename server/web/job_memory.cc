#include "server/web/job_memory.h"

#include <algorithm>
#include <optional>

#include "common/job/job_json.h"
#include "common/record/memory_record.h"

namespace trainctl::web {
namespace {

std::optional<int64_t> SmallestDevice(const v1::JobView& view, const v1::WorkersResponse& site) {
  std::optional<int64_t> smallest;
  for (const v1::WorkerView& worker : site.workers()) {
    const auto& placement = view.placement();
    if (std::find(placement.begin(), placement.end(), worker.name()) == placement.end()) continue;
    const int64_t bytes = worker.device().memory_bytes();
    if (bytes > 0) smallest = std::min(smallest.value_or(bytes), bytes);
  }
  return smallest;
}

std::optional<int64_t> LimitOf(const v1::JobDetail& detail, const v1::WorkersResponse& site) {
  const auto job = job::FromJson(detail.job_json());
  const auto device = SmallestDevice(detail.view(), site);
  if (!job || !job->resources.gpu_memory_limit_bytes) return device;
  const int64_t own = *job->resources.gpu_memory_limit_bytes;
  return std::min(own, device.value_or(own));
}

}  // namespace

record::Json MemoryDocument(const v1::JobDetail& detail, const v1::WorkersResponse& site) {
  record::Json rows = record::Json::array();
  for (const record::MemoryRow& row : record::MemoryRows(detail)) {
    record::Json one = record::MemoryRecord(row);
    one["label"] = row.kind->label;
    one["is_part"] = row.kind->is_part;
    rows.push_back(std::move(one));
  }
  const auto limit = LimitOf(detail, site);
  return {{"rows", rows}, {"limit_bytes", limit ? record::Json(*limit) : record::Json(nullptr)}};
}

}  // namespace trainctl::web
