// A quota that was lowered while jobs waited.
#include "server/core/quota.h"

#include <gtest/gtest.h>

#include "server/core/step.h"
#include "tests/server/sample_rows.h"

namespace trainctl::core {
namespace {

constexpr Now kNow{1'000'000'000, 1'000'000'000};

UnfinishedJob JobOfAnn(int64_t id, int64_t devices) {
  UnfinishedJob job{store::SampleJob(id, "lab", "r"), {}, std::nullopt, {}};
  job.row.group = {1};
  job.row.user = "ann";
  job.row.spec.devices = devices;
  job.row.spec.resources.constraints.clear();
  return job;
}

TEST(Quota, AJobThatExceedsItIsNotUnderWayInItsGroup) {
  StoredState stored;
  stored.next_job = 4;
  stored.next_group = 2;
  stored.groups = {GroupRow{{1}, "lab", 1, 1}};
  stored.jobs = {JobOfAnn(1, 2), JobOfAnn(2, 2), JobOfAnn(3, 1)};
  stored.jobs[0].status.attempt = 1;  // it was started, and is to be restarted
  Options options;
  options.policy.users["ann"].max_running_devices = 1;
  const State state = Restore(options, stored, kNow);
  const BoundedGroup& group = state.bounded_groups.at({1});
  EXPECT_EQ(group.under_way, std::set<base::JobId>{{3}});
  EXPECT_TRUE(group.waiting.empty());
  options.policy.users.clear();
  const State granted = Restore(options, stored, kNow);
  EXPECT_EQ(granted.bounded_groups.at({1}).under_way, std::set<base::JobId>{{1}});
  EXPECT_EQ(granted.bounded_groups.at({1}).waiting.size(), 2u);
}

}  // namespace
}  // namespace trainctl::core
