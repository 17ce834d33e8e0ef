#include "worker/agent/host_sampler.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/shim/temp_folder.h"
#include "worker/agent/rank_sampler.h"

namespace trainctl::agent {
namespace {

class HostSamplerTest : public testing::Test {
 protected:
  HostSamplerTest() {
    for (const char* name : {"proc", "v2", "v1"})
      std::filesystem::create_directory(folder_.path() + "/" + name);
    Write("proc/stat", "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2 3 4\n");
    Write("proc/meminfo",
          "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    600 kB\n");
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() + "/" + name) << text;
  }
  HostFiles Files() {
    return {folder_.path() + "/proc", folder_.path() + "/v2", folder_.path() + "/v1",
            folder_.path() + "/v1"};
  }

  tests::TempFolder folder_;
};

TEST_F(HostSamplerTest, CountsCpuTimeSinceTheSampleBefore) {
  HostSampler sampler(Files());
  Write("proc/stat", "cpu  130 0 130 900 40 0 0 0 0 0\ncpu0 1 2 3 4\n");
  EXPECT_EQ(sampler.Sample().cpu_percent, 30) << "60 of 200 ticks; waiting for disks is idle";
  EXPECT_EQ(sampler.Sample().cpu_percent, 30) << "no tick has passed: it is as before";
  EXPECT_EQ(sampler.Sample().cpus, 1);
}

// A second on two cores, of which the whole host uses half.
constexpr char kOneSecondLater[] = "cpu  150 0 150 900 0 0 0 0 0 0\ncpu0 1 2 3 4\ncpu1 1 2 3 4\n";

TEST_F(HostSamplerTest, OfAContainerWithAQuotaTheQuotaIsWhatCanBeUsed) {
  Write("v2/cpu.max", "50000 100000\n");
  Write("v2/cpu.stat", "usage_usec 1000000\nuser_usec 1\n");
  HostSampler sampler(Files());
  Write("v2/cpu.stat", "usage_usec 1490000\nuser_usec 1\n");
  Write("proc/stat", kOneSecondLater);
  const job::HostSample sample = sampler.Sample();
  EXPECT_DOUBLE_EQ(sample.cpu_percent, 98) << "0.49 s of the half core of a second";
  EXPECT_DOUBLE_EQ(sample.cpus, 0.5);
}

TEST_F(HostSamplerTest, AQuotaOfTheOlderCgroupsCountsToo) {
  Write("v1/cpu.cfs_quota_us", "100000\n");
  Write("v1/cpu.cfs_period_us", "100000\n");
  Write("v1/cpuacct.usage", "0\n");
  HostSampler sampler(Files());
  Write("v1/cpuacct.usage", "750000000\n");
  Write("proc/stat", kOneSecondLater);
  EXPECT_DOUBLE_EQ(sampler.Sample().cpu_percent, 75);
}

TEST_F(HostSamplerTest, WithoutAQuotaBelowTheHostsCoresTheHostCounts) {
  for (const char* quota : {"max 100000\n", "200000 100000\n"}) {
    Write("proc/stat", "cpu  100 0 100 800 0 0 0 0 0 0\n");
    Write("v2/cpu.max", quota);
    Write("v2/cpu.stat", "usage_usec 0\n");
    HostSampler sampler(Files());
    Write("proc/stat", kOneSecondLater);
    const job::HostSample sample = sampler.Sample();
    EXPECT_DOUBLE_EQ(sample.cpu_percent, 50) << quota;
    EXPECT_EQ(sample.cpus, 2) << quota;
  }
}

TEST_F(HostSamplerTest, MemoryInUseIsWhatIsNotAvailable) {
  const job::HostSample sample = HostSampler(Files()).Sample();
  EXPECT_EQ(sample.memory_total_bytes, 1000 * 1024);
  EXPECT_EQ(sample.memory_used_bytes, 400 * 1024);
}

TEST_F(HostSamplerTest, AContainersLimitCounts) {
  Write("v2/memory.max", "500000\n");
  Write("v2/memory.current", "123456\n");
  job::HostSample sample = HostSampler(Files()).Sample();
  EXPECT_EQ(sample.memory_total_bytes, 500000);
  EXPECT_EQ(sample.memory_used_bytes, 123456);
  Write("v2/memory.max", "max\n");
  EXPECT_EQ(HostSampler(Files()).Sample().memory_total_bytes, 1000 * 1024);
  Write("v1/memory.limit_in_bytes", "400000\n");
  Write("v1/memory.usage_in_bytes", "5\n");
  EXPECT_EQ(HostSampler(Files()).Sample().memory_total_bytes, 400000);
  EXPECT_EQ(HostSampler(Files()).MemoryBytes(), 400000);
  Write("v1/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(HostSampler(Files()).Sample().memory_total_bytes, 1000 * 1024);
}

TEST_F(HostSamplerTest, MissingFilesAreNoCrash) {
  HostSampler sampler({"/no/proc", "/no/v2", "/no/v1", "/no/v1"});
  EXPECT_EQ(sampler.Sample().memory_total_bytes, 0);
}

TEST(RankSampler, MeasuresAProcess) {
  base::FakeClock clock;
  RankSampler sampler(::getpid(), clock);
  EXPECT_EQ(sampler.Sample()->cpu_percent, std::nullopt) << "nothing to compare with";
  volatile double sink = 0;
  for (const clock_t start = ::clock(); ::clock() - start < CLOCKS_PER_SEC / 5;) sink = sink + 1;
  clock.Advance(1'000'000);
  const auto sample = sampler.Sample();
  EXPECT_GE(sample->cpu_percent.value(), 15) << "at least 0.15 s of one second";
  EXPECT_LE(sample->cpu_percent.value(), 60);
  EXPECT_GT(sample->memory_used_bytes, 1 << 20);
}

TEST(RankSampler, KnowsThatTheRankHasEnded) {
  base::FakeClock clock;
  EXPECT_FALSE(RankSampler(999'999'999, clock).Sample());
}

}  // namespace
}  // namespace trainctl::agent
