#include "server/core/plan.h"

#include <gtest/gtest.h>

#include "common/estimate/memory_estimate.h"
#include "tests/job/tiny_llama.h"
#include "tests/job/valid_job.h"

namespace trainctl::core {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

// TinyLlama under fsdp in 32-true: 7.5 GiB where gradients are reduced in each micro step, 10.6
// where they are held whole.
Job Accumulating() {
  Job job;
  job.attempt.emplace();
  job.row.spec = job::SmallestJob();
  job.row.spec.devices = 4;
  job.row.spec.strategy = job::StrategyKind::kFsdp;
  job.row.spec.train.micro_batch_size = 2;
  job.row.spec.train.accumulate_grad_batches = 4;
  job.row.inspection = job::tiny_llama::TinyLlama();
  return job;
}

bool HoldsGradients(const Job& job, int64_t memory_bytes) {
  const job::Device device = {.kind = job::DeviceKind::kCuda, .memory_bytes = memory_bytes};
  return MakePlan(State(), job, {{1}, 1, 0}, device).holds_gradients;
}

TEST(MakePlan, HoldsGradientsWhereTheDeviceHasRoomForThem) {
  EXPECT_TRUE(HoldsGradients(Accumulating(), 80 * kGiB));
  EXPECT_FALSE(HoldsGradients(Accumulating(), 9 * kGiB));
}

TEST(MakePlan, HoldsNoMoreGradientsThanTheJobsOwnLimitAllows) {
  Job job = Accumulating();
  job.row.spec.resources.gpu_memory_limit_bytes = 9 * kGiB;
  EXPECT_FALSE(HoldsGradients(job, 80 * kGiB));
}

TEST(MakePlan, ReducesInEachMicroStepWhereDeviceOrModelAreNotKnown) {
  Job job = Accumulating();
  EXPECT_FALSE(HoldsGradients(job, 0));
  job.row.inspection.reset();
  EXPECT_FALSE(HoldsGradients(job, 80 * kGiB));
}

}  // namespace
}  // namespace trainctl::core
