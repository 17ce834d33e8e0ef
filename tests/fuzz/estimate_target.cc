// What a coordinator works out of a submission before it takes it: a job, and what a worker or the
// client says of its model and data.
#include <string>

#include "common/base/check.h"
#include "common/estimate/accept_job.h"
#include "common/estimate/memory_estimate.h"
#include "common/estimate/prediction.h"
#include "common/job/check_job.h"
#include "common/job/job_json.h"
#include "tests/fuzz/halves.h"
#include "tests/fuzz/targets.h"

namespace trainctl::fuzz {
namespace {

std::vector<job::SiteDevice> Site() {
  std::vector<job::SiteDevice> devices;
  const std::string slot = job::CpuSlotName(2);
  for (int i = 0; i < 4; ++i) {
    devices.push_back({job::DeviceKind::kCuda, "h", "NVIDIA H200", int64_t{140} << 30, "9.0", 8});
    devices.push_back({job::DeviceKind::kCpu, "h", slot, int64_t{8} << 30, "", 2});
  }
  return devices;
}

}  // namespace

bool ReadEstimate(std::string_view bytes) {
  const auto [file, annex] = Halves(bytes);
  const auto prediction = job::PredictionFromJson(annex);
  if (prediction) job::ToJson(*prediction);
  const auto inspection = job::InspectionFromJson(annex);
  const auto asked = job::FromJson(file);
  if (!asked || !inspection) return false;
  const std::string told = job::ToJson(*inspection);
  CHECK(job::InspectionFromJson(told).ok()) << told;
  job::ShapeKey(*asked, *inspection);  // as for the RPC EarlierRuns, which checks no more
  job::StartKey(*asked, *inspection);
  if (!job::CheckJob(*asked).empty() || !asked->train.micro_batch_size) return false;
  const job::JobSpec spec = job::ResolveJob(*asked);
  const auto accepted = job::AcceptJob({.job = spec, .inspection = *inspection, .devices = Site()});
  if (!accepted || !accepted->problems.empty()) return false;
  for (const bool holds : {false, true}) {
    for (const job::DeviceKind device : {job::DeviceKind::kCuda, job::DeviceKind::kCpu}) {
      const auto memory = job::EstimateMemory(spec, *inspection, device, holds);
      CHECK(memory.peak_allocated >= 0) << job::ToJson(memory);
    }
    const auto time = job::EstimateTime(spec, *inspection, "NVIDIA H200", holds);
    if (time) job::TimeText(*time);
  }
  return true;
}

}  // namespace trainctl::fuzz
