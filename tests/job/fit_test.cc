#include "common/estimate/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "common/estimate/fitting_settings.h"
#include "common/estimate/memory_estimate.h"
#include "common/job/check_job.h"
#include "tests/job/gib.h"
#include "tests/job/tiny_llama.h"
#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using tiny_llama::TinyLlama;

std::vector<SiteDevice> Gpus(std::initializer_list<int64_t> sizes_gib) {
  std::vector<SiteDevice> devices;
  for (const int64_t size : sizes_gib)
    devices.push_back({DeviceKind::kCuda, "node1", "GPU", size * kGiB, "9.0"});
  return devices;
}

// 32-true: 40.94 GiB; with micro batches of 8 and accumulation 23.51.
JobSpec Large() {
  JobSpec job = SmallestJob();
  job.train.global_batch_size = 32;
  job.train.micro_batch_size = 32;
  return job;
}

TEST(BestFit, IsOnTheRoomiestDevices) {
  const std::optional<Fit> fit = BestFit(Large(), TinyLlama(), Gpus({24, 80, 40}));
  ASSERT_TRUE(fit.has_value());
  EXPECT_EQ(fit->limit_bytes, 80 * kGiB);
  EXPECT_EQ(fit->peak_bytes,
            EstimateMemory(Large(), TinyLlama(), DeviceKind::kCuda).peak_allocated);
  EXPECT_TRUE(fit->fits());
}

TEST(BestFit, OfAGangIsTheSmallestOfItsDevices) {
  JobSpec job = Large();
  job.devices = 2;
  EXPECT_EQ(BestFit(job, TinyLlama(), Gpus({24, 80, 40}))->limit_bytes, 40 * kGiB);
}

TEST(BestFit, IsOnTheKindWhereItFits) {
  std::vector<SiteDevice> devices = Gpus({24});
  devices.push_back({DeviceKind::kCpu, "node1", "CPU slot", 64 * kGiB, ""});
  EXPECT_EQ(BestFit(Large(), TinyLlama(), devices)->kind, DeviceKind::kCpu);
}

TEST(BestFit, TheJobsOwnLimitCountsAsTheDevicesSize) {
  JobSpec job = Large();
  job.resources.gpu_memory_limit_bytes = 30 * kGiB;
  EXPECT_FALSE(BestFit(job, TinyLlama(), Gpus({80}))->fits());
}

TEST(BestFit, NothingIsKnownWithoutEnoughDevicesOrTheirSizes) {
  JobSpec job = Large();
  EXPECT_FALSE(BestFit(job, TinyLlama(), Gpus({0})).has_value());
  job.devices = 2;
  EXPECT_FALSE(BestFit(job, TinyLlama(), Gpus({80})).has_value());
  job.resources.constraints = {{"gpu.memory", ">=1TB"}};
  EXPECT_FALSE(BestFit(job, TinyLlama(), Gpus({80, 80})).has_value());
}

TEST(CheckFit, SaysWhatIsPredictedWhatThereIsAndWhatWouldFit) {
  const std::vector<Problem> problems = CheckFit(Large(), TinyLlama(), Gpus({26, 26}));
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_EQ(problems[0].path, "train.micro_batch_size");
  EXPECT_THAT(problems[0].expected,
              HasSubstr("at most 26.00 GiB a device, the most that this site has"));
  EXPECT_THAT(problems[0].hint, HasSubstr("predicted peak 40.97 GiB"));
  EXPECT_THAT(problems[0].hint, HasSubstr("--train.micro_batch_size 8 ("));
  EXPECT_THAT(problems[0].hint, HasSubstr("--force"));
}

TEST(CheckFit, NamesTheJobsOwnLimit) {
  JobSpec job = Large();
  job.resources.gpu_memory_limit_bytes = 24 * kGiB;
  EXPECT_THAT(CheckFit(job, TinyLlama(), Gpus({80})).at(0).expected,
              HasSubstr("its resources.gpu_memory_limit"));
}

TEST(CheckFit, IsSilentWhereItFitsAndWhereRunningOutOfMemoryIsExpected) {
  EXPECT_THAT(CheckFit(Large(), TinyLlama(), Gpus({80})), IsEmpty());
  JobSpec job = Large();
  job.expect = Expect::kOom;
  EXPECT_THAT(CheckFit(job, TinyLlama(), Gpus({24})), IsEmpty());
}

TEST(FittingSettings, ASmallerMicroBatchIsTheCheapestAndKeepsTheGlobalBatch) {
  const auto settings = FindFittingSettings(Large(), TinyLlama(), Gpus({26}));
  ASSERT_FALSE(settings.empty());
  EXPECT_EQ(settings[0].overrides, "--train.micro_batch_size 8");
  EXPECT_EQ(settings[0].job.train.global_batch_size, 32);
}

TEST(FittingSettings, AccumulationMakesUpForItWhereNoGlobalBatchIsGiven) {
  JobSpec job = Large();
  job.train.global_batch_size.reset();
  const auto settings = FindFittingSettings(job, TinyLlama(), Gpus({26}));
  ASSERT_FALSE(settings.empty());
  EXPECT_EQ(settings[0].overrides, "--train.micro_batch_size 8 --train.accumulate_grad_batches 4");
}

TEST(FittingSettings, EachFitsPassesTheCheckAndIsWhatItsOverridesSay) {
  for (const int64_t size : {4, 8, 12, 16, 24, 32}) {
    const std::vector<SiteDevice> site = Gpus({size, size});
    for (const FittingSetting& setting : FindFittingSettings(Large(), TinyLlama(), site)) {
      EXPECT_THAT(CheckJob(setting.job), IsEmpty()) << setting.overrides;
      EXPECT_TRUE(BestFit(setting.job, TinyLlama(), site)->fits()) << setting.overrides;
      EXPECT_LE(setting.peak_bytes, size * kGiB) << setting.overrides;
      std::vector<Override> overrides;
      std::istringstream words(setting.overrides);
      for (std::string key, value; words >> key >> value;) {
        std::erase(value, '\'');
        overrides.push_back({key.substr(2), value});
      }
      const ReadJob read = Read(R"({"version": 1, "model": {"path": "m"}, "data": {"path": "d"},
                                    "train": {"global_batch_size": 32, "micro_batch_size": 32}})",
                                overrides);
      ASSERT_TRUE(read.job.has_value()) << setting.overrides << "\n" << Format(read.problems, "");
      EXPECT_EQ(ToJson(ResolveJob(*read.job)), ToJson(setting.job)) << setting.overrides;
    }
  }
}

TEST(FittingSettings, LeaveAMargin) {
  const auto settings =
      FindFittingSettings(Large(), TinyLlama(), Gpus({24}));  // 23.51 GiB would only just fit
  ASSERT_FALSE(settings.empty());
  EXPECT_EQ(settings[0].overrides, "--train.micro_batch_size 4");
}

TEST(FittingSettings, NoneWhereNothingHelps) {
  EXPECT_THAT(FindFittingSettings(Large(), TinyLlama(), Gpus({1})), IsEmpty());
}

}  // namespace
}  // namespace trainctl::job
