#include "worker/agent/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/base/size.h"
#include "tests/agent/fake_gpu_library.h"
#include "tests/shim/temp_folder.h"
#include "worker/agent/idle_baseline.h"

namespace trainctl::agent {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using tests::FakeDriver;
using tests::FakeGpuLibrary;

constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kGiB = 1 << 30;

TEST(IdleBaseline, LearnsWhatAnIdleGpuUses) {
  IdleBaseline baseline(80 * kGiB, std::nullopt);
  EXPECT_FALSE(baseline.IsIdle(40 * kGiB)) << "at the first look somebody is on it";
  EXPECT_TRUE(baseline.IsIdle(600 * kMiB));
  EXPECT_TRUE(baseline.IsIdle(600 * kMiB + IdleBaseline::kToleranceBytes));
  EXPECT_FALSE(baseline.IsIdle(600 * kMiB + IdleBaseline::kToleranceBytes + 1));
  EXPECT_TRUE(baseline.IsIdle(100 * kMiB));
  EXPECT_FALSE(baseline.IsIdle(600 * kMiB)) << "it can be lower than it was first";
}

TEST(IdleBaseline, GoesOnWithWhatAnEarlierWorkerSaw) {
  IdleBaseline baseline(80 * kGiB, 100 * kMiB);
  EXPECT_FALSE(baseline.IsIdle(1 * kGiB));
}

TEST(GpuDevice, KeepsItsBaselineForTheNextWorkerOfThisBoot) {
  const tests::TempFolder folder;
  FakeDriver driver;
  driver.sample.memory_used_bytes = 100 * kMiB;
  EXPECT_EQ((*MakeGpu(std::make_unique<FakeGpuLibrary>(driver), 0, 1, folder.path()))->WhyNotFree(),
            "");
  driver.sample.memory_used_bytes =
      1 * kGiB;  // a rank's remains, below what a first look takes for idle
  EXPECT_THAT(
      (*MakeGpu(std::make_unique<FakeGpuLibrary>(driver), 0, 1, folder.path()))->WhyNotFree(),
      HasSubstr("1.00 GiB"));
}

// However little it holds: at the first look nobody knows what the GPU uses when idle.
TEST(GpuDevice, IsNotFreeWhileAnotherProcessComputesOnIt) {
  for (const int64_t held : {int64_t{0}, 300 * kMiB, 1 * kGiB}) {
    const tests::TempFolder folder;
    FakeDriver driver;
    driver.sample.memory_used_bytes = held + 10 * kMiB;
    driver.processes = {{::getppid(), held}};
    const auto device = MakeGpu(std::make_unique<FakeGpuLibrary>(driver), 0, 1, folder.path());
    EXPECT_THAT((*device)->WhyNotFree(),
                AllOf(HasSubstr("others compute on it: process " + std::to_string(::getppid())),
                      HasSubstr(held > 0 ? ", with " + base::FormatBytes(held) : "")));
    driver.processes.clear();
    driver.sample.memory_used_bytes = 10 * kMiB;
    EXPECT_EQ((*device)->WhyNotFree(), "");
    driver.sample.memory_used_bytes = 300 * kMiB;
    EXPECT_THAT((*device)->WhyNotFree(), HasSubstr("not the 10.00 MiB of an idle GPU"))
        << "what others held is not learned";
  }
}

TEST(GpuDevice, IsNotFreeForASmallProcessThatComesLaterEither) {
  const tests::TempFolder folder;
  FakeDriver driver;
  const auto device = MakeGpu(std::make_unique<FakeGpuLibrary>(driver), 0, 1, folder.path());
  EXPECT_EQ((*device)->WhyNotFree(), "");
  driver.processes = {{::getppid(), 200 * kMiB}};
  EXPECT_NE((*device)->WhyNotFree(), "");
}

TEST(GpuDevice, IsNotFreeWhileItsDriverDoesNotAnswer) {
  const tests::TempFolder folder;
  FakeDriver driver;
  const auto device = MakeGpu(std::make_unique<FakeGpuLibrary>(driver), 0, 1, folder.path());
  driver.answers = false;
  EXPECT_THAT((*device)->WhyNotFree(), HasSubstr("fell off the bus"));
  EXPECT_FALSE((*device)->Sample());
}

TEST(MakeGpu, NamesTheGpusThereAre) {
  FakeDriver driver;
  driver.gpus.push_back({1, "GPU-bbbb", "NVIDIA H200", kGiB, 9, 0});
  const auto device = MakeGpu(std::make_unique<FakeGpuLibrary>(driver), 2, 1, "/tmp");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, base::Code::kNotFound);
  EXPECT_THAT(device.error().message, HasSubstr("cuda:0, cuda:1"));
}

TEST(MakeGpu, RefusesAV100AndAnOldDriverInPlainWords) {
  FakeDriver driver;
  driver.gpus = {{0, "GPU-aaaa", "Tesla V100-SXM2-32GB", 32 * kGiB, 7, 0}};
  const auto refusal = [&] {
    return MakeGpu(std::make_unique<FakeGpuLibrary>(driver), 0, 1, "/tmp").error().message;
  };
  EXPECT_THAT(refusal(), HasSubstr("V100-SXM2-32GB) has compute capability 7.0"));
  driver.version = "570.11";
  EXPECT_THAT(refusal(), HasSubstr("570.11, but CUDA 13 needs 580"));
}

}  // namespace
}  // namespace trainctl::agent
