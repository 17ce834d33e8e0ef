// What a worker ends by itself at a time limit is gone before the job's lease ends.
#include "server/core/last_moment.h"

#include <gtest/gtest.h>

namespace trainctl::core {
namespace {

constexpr int64_t kSecond = 1'000'000;

// Of a job that was placed now, under a lease that ends after so long.
job::Deadline Deadline(int64_t limit_seconds, int64_t lease_us) {
  const Now now{.wall = 1'000 * kSecond, .steady = 5 * kSecond};
  State state;
  Lease& lease = state.leases[1];
  lease.row = {.id = 1, .name = "lab", .start = now.wall, .end = now.wall + lease_us};
  Job job;
  job.lease = 1;
  job.row.spec.resources.time_limit_seconds = limit_seconds;
  job.attempt.emplace().placed_steady = now.steady;
  return *DeadlineOf(state, job, now);
}

TEST(LastMoment, WhatATimeLimitEndsIsGoneBeforeItsLease) {
  constexpr int64_t kLimit = 600;
  int limits = 0, leases = 0;
  for (int64_t after_us = 0; after_us < 60 * kSecond; after_us += kSecond / 2) {
    const int64_t lease_us = kLimit * kSecond + after_us;
    const job::Deadline deadline = Deadline(kLimit, lease_us);
    EXPECT_LT(deadline.in_us + deadline.grace_us, lease_us) << after_us;
    (deadline.outcome == job::Outcome::kTimeout ? limits : leases) += 1;
  }
  EXPECT_GT(limits, 0);
  EXPECT_GT(leases, 0);
}

}  // namespace
}  // namespace trainctl::core
