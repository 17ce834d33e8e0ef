#include "common/job/user_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainctl::job {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(UserPolicy, AnUnsaidPriorityIsTheNearestThatIsGranted) {
  EXPECT_EQ(UsualPriority({}), 50);
  EXPECT_EQ(UsualPriority({.max_priority = 40}), 40);
  EXPECT_EQ(UsualPriority({.min_priority = 60}), 60);
  JobSpec job;
  EXPECT_THAT(FillIn({.min_priority = 60}, "ann", &job),
              ElementsAre("resources.priority is 60, by this site's policy for ann"));
  EXPECT_EQ(job.resources.priority, 60);
}

TEST(UserPolicy, AGrantedDefaultStaysUnsaid) {
  JobSpec job;
  EXPECT_THAT(FillIn({.max_priority = 60}, "ann", &job), IsEmpty());
  EXPECT_EQ(job.resources.priority, std::nullopt);
}

TEST(UserPolicy, AnUnsaidTimeLimitIsTheLongestThatIsGranted) {
  JobSpec job;
  EXPECT_THAT(FillIn({.max_time_limit_seconds = 3600}, "ann", &job),
              ElementsAre("resources.time_limit is 1h, by this site's policy for ann"));
  EXPECT_EQ(job.resources.time_limit_seconds, 3600);
}

TEST(UserPolicy, WhatAJobSaysStays) {
  JobSpec job;
  job.resources.priority = 70;
  job.resources.time_limit_seconds = 60;
  EXPECT_THAT(FillIn({.max_time_limit_seconds = 3600, .max_priority = 60}, "ann", &job), IsEmpty());
  EXPECT_EQ(job.resources.priority, 70);
  EXPECT_EQ(job.resources.time_limit_seconds, 60);
}

TEST(UserPolicy, OnlyWhatIsSaidIsRefused) {
  const UserPolicy policy{.max_running_devices = 2,
                          .max_time_limit_seconds = 3600,
                          .min_priority = 60,
                          .max_priority = 70};
  JobSpec job;
  EXPECT_THAT(CheckPolicy(policy, "ann", job, 1), IsEmpty());
  job.resources.priority = 50;
  job.resources.time_limit_seconds = 7200;
  EXPECT_EQ(Format(CheckPolicy(policy, "ann", job, 3), "j"),
            "j: resources.priority: 50: expected a priority from 60 to 70; this site's policy for "
            "ann\n"
            "j: devices: 3 of its whole hosts: expected at most 2, all that one user may have at "
            "once; this site's policy for ann\n"
            "j: resources.time_limit: 2h: expected a time of at most 1h; this site's policy for "
            "ann");
  job.resources.lease = "mine";
  EXPECT_EQ(CheckPolicy(policy, "ann", job, 3).size(), 2u) << "its devices are the lease's";
}

}  // namespace
}  // namespace trainctl::job
