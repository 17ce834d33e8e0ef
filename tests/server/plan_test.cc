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
  Rank& rank = job.attempt.emplace().ranks.emplace_back();
  rank.row.worker = "a/0";
  rank.row.host = "a";
  job.row.spec = job::SmallestJob();
  job.row.spec.devices = 4;
  job.row.spec.strategy = job::StrategyKind::kFsdp;
  job.row.spec.train.micro_batch_size = 2;
  job.row.spec.train.accumulate_grad_batches = 4;
  job.row.inspection = job::tiny_llama::TinyLlama();
  return job;
}

// One worker, with which the job's one rank is.
State Site(const job::Device& device) {
  State state;
  state.workers["a/0"].row = {.name = "a/0", .host = "a", .device = device};
  return state;
}

bool HoldsGradients(const Job& job, int64_t memory_bytes) {
  const job::Device device = {.kind = job::DeviceKind::kCuda, .memory_bytes = memory_bytes};
  return MakePlan(Site(device), job, job.attempt->ranks.front().row, device).holds_gradients;
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

// Workers of 0.1.0 refuse a plan whose priority is not a number.
TEST(MakePlan, SaysThePriorityThatTheJobLeavesUnsaid) {
  Job job = Accumulating();
  job.row.spec.resources.priority.reset();
  const job::Device device = {.kind = job::DeviceKind::kCuda, .memory_bytes = 80 * kGiB};
  const job::RankPlan plan = MakePlan(Site(device), job, job.attempt->ranks.front().row, device);
  EXPECT_EQ(plan.job.resources.priority, job::kDefaultPriority);
}

TEST(MakePlan, NamesTheOwnerOfItsFolderOnceThatHasEnded) {
  State state = Site({});
  state.site = "site";
  state.next_job = 9;
  state.jobs[{3}].row.id = {3};
  Job job = Accumulating();
  const auto ended = [&](const std::string& site, const std::string& owner) {
    job.row.inspection->output = job::OutputFolder{job::FolderOwner{site, owner, "tiny"}, 1, ""};
    return MakePlan(state, job, job.attempt->ranks.front().row, {}).ended_jobs;
  };
  const std::vector<std::string> none, second{"j2"};
  EXPECT_EQ(ended("site", "j2"), second);
  EXPECT_EQ(ended("site", "j3"), none);
  EXPECT_EQ(ended("elsewhere", "j2"), none);
  EXPECT_EQ(ended("site", "j9"), none) << "a job that is not there yet";
  state.gaps = {{5, 7}};
  EXPECT_EQ(ended("site", "j4"), std::vector<std::string>{"j4"});
  EXPECT_EQ(ended("site", "j5"), none) << "a job after the backup: it may still run";
  EXPECT_EQ(ended("site", "j7"), none);
  EXPECT_EQ(ended("site", "j8"), std::vector<std::string>{"j8"});
  job.row.inspection->output = job::OutputFolder{
      .overlaps = {{"/out/a", {"site", "j2", "tiny"}, ""}, {"/out/b", {"site", "j3", "tiny"}, ""}}};
  EXPECT_EQ(MakePlan(state, job, job.attempt->ranks.front().row, {}).ended_jobs, second);
  job.row.inspection.reset();
  job.row.spec.checkpoint.resume_job = "j2";
  EXPECT_EQ(MakePlan(state, job, job.attempt->ranks.front().row, {}).ended_jobs, second);
}

}  // namespace
}  // namespace trainctl::core
