#include "common/estimate/micro_batch_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/estimate/fit.h"
#include "common/estimate/memory_estimate.h"
#include "common/job/batch.h"
#include "tests/job/gib.h"
#include "tests/job/tiny_llama.h"
#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

using testing::HasSubstr;
using tiny_llama::TinyLlama;

std::vector<SiteDevice> Gpus(size_t count, int64_t gib) {
  return std::vector<SiteDevice>(count, {DeviceKind::kCuda, "n", "GPU", gib * kGiB, "9.0"});
}

JobSpec Auto(std::optional<int64_t> global, int64_t devices = 1) {
  JobSpec job = SmallestJob();
  job.devices = devices;
  job.train.global_batch_size = global;
  job.train.micro_batch_size.reset();
  return job;
}

int64_t PeakOf(JobSpec job, int64_t micro) {
  job.train.micro_batch_size = micro;
  return EstimateMemory(job, TinyLlama(), DeviceKind::kCuda).peak_allocated;
}

TEST(ChooseMicroBatch, TakesTheLargestThatFitsAndKeepsTheGlobalBatch) {
  const auto choice = ChooseMicroBatch(Auto(64), TinyLlama(), Gpus(1, 40));
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->micro_batch_size, 16);
  EXPECT_EQ(choice->job.train.micro_batch_size, 16);
  EXPECT_EQ(PlanBatch(choice->job)->global, 64);
  EXPECT_EQ(PlanBatch(choice->job)->accumulation, 4);
  EXPECT_TRUE(FitsSafely(PeakOf(Auto(64), 16), 40 * kGiB));
  EXPECT_FALSE(FitsSafely(PeakOf(Auto(64), 32), 40 * kGiB));
}

TEST(ChooseMicroBatch, SaysWhy) {
  const auto choice = ChooseMicroBatch(Auto(64), TinyLlama(), Gpus(1, 40));
  EXPECT_EQ(choice->Text(), "16 fits: 30.67 GiB of 40.00 GiB predicted; 32 would need 44.66 GiB");
  EXPECT_THAT(ChooseMicroBatch(Auto(64), TinyLlama(), Gpus(1, 140))->Text(),
              HasSubstr("it is the largest that the batch allows"));
  EXPECT_THAT(ChooseMicroBatch(Auto(64), TinyLlama(), Gpus(1, 4))->Text(),
              HasSubstr("1 is the smallest"));
}

TEST(ChooseMicroBatch, DividesTheGlobalBatchAmongTheDevices) {
  EXPECT_EQ(ChooseMicroBatch(Auto(64, 4), TinyLlama(), Gpus(4, 140))->micro_batch_size, 16);
  EXPECT_EQ(ChooseMicroBatch(Auto(24, 2), TinyLlama(), Gpus(2, 140))->micro_batch_size, 12);
  EXPECT_FALSE(ChooseMicroBatch(Auto(6, 4), TinyLlama(), Gpus(4, 140)).ok());
}

TEST(ChooseMicroBatch, WithoutAGlobalBatchTakesPowersOfTwoThatTheRowsFill) {
  Inspection inspection = TinyLlama();
  inspection.rows = 30;
  EXPECT_EQ(ChooseMicroBatch(Auto(std::nullopt), inspection, Gpus(1, 140))->micro_batch_size, 16);
  JobSpec accumulates = Auto(std::nullopt);
  accumulates.train.accumulate_grad_batches = 4;
  EXPECT_EQ(ChooseMicroBatch(accumulates, inspection, Gpus(1, 140))->micro_batch_size, 4);
}

TEST(ChooseMicroBatch, ASiteWithoutDevicesCountsAsTheJobsOwnLimit) {
  JobSpec job = Auto(64);
  EXPECT_FALSE(ChooseMicroBatch(job, TinyLlama(), {}).ok());
  job.resources.gpu_memory_limit_bytes = 40 * kGiB;
  EXPECT_EQ(ChooseMicroBatch(job, TinyLlama(), {})->micro_batch_size, 16);
}

std::vector<std::pair<int64_t, int64_t>> MicroAndAccumulationDownToOne(JobSpec job) {
  std::vector<std::pair<int64_t, int64_t>> all;
  const int64_t global = PlanBatch(job)->global;
  for (std::optional<JobSpec> next = job; next; next = WithSmallerMicroBatch(*next)) {
    const BatchPlan batch = PlanBatch(*next).value();
    EXPECT_EQ(batch.global, global);
    all.emplace_back(batch.micro, batch.accumulation);
  }
  return all;
}

TEST(WithSmallerMicroBatch, HalvesAndAccumulatesTwiceAsOften) {
  JobSpec job = SmallestJob();
  job.train.micro_batch_size = 8;
  using testing::ElementsAre;
  using testing::Pair;
  const auto halved = ElementsAre(Pair(8, 1), Pair(4, 2), Pair(2, 4), Pair(1, 8));
  EXPECT_THAT(MicroAndAccumulationDownToOne(job), halved);
  job.devices = 2;
  job.train.global_batch_size = 16;
  EXPECT_THAT(MicroAndAccumulationDownToOne(job), halved);
  job.train.global_batch_size.reset();
  job.train.accumulate_grad_batches = 3;
  EXPECT_THAT(MicroAndAccumulationDownToOne(job),
              ElementsAre(Pair(8, 3), Pair(4, 6), Pair(2, 12), Pair(1, 24)));
}

TEST(WithSmallerMicroBatch, TakesTheLargestUpToTheHalfThatDivides) {
  JobSpec job = SmallestJob();
  job.train.global_batch_size = 45;
  job.train.micro_batch_size = 15;
  using testing::ElementsAre;
  using testing::Pair;
  EXPECT_THAT(MicroAndAccumulationDownToOne(job),
              ElementsAre(Pair(15, 3), Pair(5, 9), Pair(1, 45)));
}

}  // namespace
}  // namespace trainctl::job
