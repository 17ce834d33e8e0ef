#include "common/estimate/host_memory.h"

#include <gmock/gmock.h>

#include "common/estimate/accept_job.h"
#include "common/estimate/fit.h"
#include "tests/job/gib.h"
#include "tests/job/tiny_llama.h"
#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// TinyLlama's masters and moments are 12.29 GiB.
JobSpec Offloading(int64_t devices = 1) {
  JobSpec job = SmallestJob();
  job.precision = Precision::kBf16True;
  job.offload_optimizer = true;
  job.devices = devices;
  return job;
}

// GPUs of 80 GiB, each on a host of its name.
std::vector<SiteDevice> GpusOn(const std::vector<std::pair<std::string, int64_t>>& hosts) {
  std::vector<SiteDevice> devices;
  for (const auto& [host, gib] : hosts) {
    devices.push_back({.kind = DeviceKind::kCuda,
                       .host = host,
                       .name = "GPU",
                       .memory_bytes = 80 * kGiB,
                       .compute_capability = "9.0",
                       .host_memory_bytes = gib * kGiB});
  }
  return devices;
}

std::vector<Problem> Check(const JobSpec& job, const std::vector<SiteDevice>& devices) {
  return CheckHostMemory(job, tiny_llama::TinyLlama(), devices);
}

TEST(HostMemory, AnOptimizerThatNoHostCanHoldIsToldWithItsNumbers) {
  const std::vector<Problem> problems = Check(Offloading(), GpusOn({{"a", 12}, {"b", 8}}));
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_EQ(problems[0].path, "offload_optimizer");
  EXPECT_THAT(problems[0].hint,
              HasSubstr("the optimizer in host memory takes 12.29 GiB a rank, and "
                        "hosts of at most 12.00 GiB have room for 0 of its 1 rank"));
  EXPECT_THAT(Check(Offloading(), GpusOn({{"a", 16}, {"b", 8}})), IsEmpty());
}

TEST(HostMemory, RanksOfOneHostShareItsMemory) {
  EXPECT_THAT(Check(Offloading(2), GpusOn({{"a", 16}, {"a", 16}})), SizeIs(1));
  EXPECT_THAT(Check(Offloading(2), GpusOn({{"a", 16}, {"b", 16}})), IsEmpty());
  EXPECT_THAT(Check(Offloading(2), GpusOn({{"a", 32}, {"a", 32}})), IsEmpty());
}

TEST(HostMemory, OnlyHostsThatTheJobMayUseCount) {
  JobSpec job = Offloading();
  job.resources.constraints = {{"host", "=a"}};
  EXPECT_THAT(Check(job, GpusOn({{"a", 8}, {"b", 64}})), SizeIs(1));
}

TEST(HostMemory, NothingIsSaidWhereItIsNotKnownOrNotAsked) {
  JobSpec job = Offloading();
  EXPECT_THAT(Check(job, GpusOn({{"a", 8}, {"b", 0}})), IsEmpty());
  EXPECT_THAT(Check(job, {}), IsEmpty());
  job.expect = Expect::kOom;
  EXPECT_THAT(Check(job, GpusOn({{"a", 8}})), IsEmpty());
  job = Offloading();
  job.offload_optimizer = false;
  EXPECT_THAT(Check(job, GpusOn({{"a", 8}})), IsEmpty());
}

TEST(HostMemory, AJobIsRefusedForItUnlessForced) {
  Inspection inspection = tiny_llama::TinyLlama();
  inspection.rows = 1000;
  JobAtSite question{.job = Offloading(), .inspection = inspection, .devices = GpusOn({{"a", 8}})};
  EXPECT_THAT(AcceptJob(question)->problems, SizeIs(1));
  question.force = true;
  const Acceptance forced = AcceptJob(question).value();
  EXPECT_THAT(forced.problems, IsEmpty());
  ASSERT_THAT(forced.overridden, SizeIs(1));
  EXPECT_EQ(forced.overridden[0].consequence, "it will probably end OOM_HOST");
}

// A job that fits no GPU is not told to do what its host can't.
TEST(HostMemory, NoSettingIsOfferedThatTheHostsCannotHold) {
  JobSpec job = Offloading();
  job.offload_optimizer = false;
  const auto offers = [&](int64_t host_gib) {
    std::vector<SiteDevice> devices = GpusOn({{"a", host_gib}});
    devices.front().memory_bytes = 6 * kGiB;
    const std::vector<Problem> problems = CheckFit(job, tiny_llama::TinyLlama(), devices);
    return problems.empty() ? "it fits" : problems.front().hint;
  };
  EXPECT_THAT(offers(64), HasSubstr("--offload_optimizer true"));
  EXPECT_THAT(offers(8), testing::Not(HasSubstr("--offload_optimizer true")));
}

}  // namespace
}  // namespace trainctl::job
