#include "server/core/queued_jobs.h"

#include <gtest/gtest.h>

namespace trainctl::core {
namespace {

struct Given {
  int64_t id;
  int64_t priority;
  const int64_t* share;
  Lane lane = Lane::kQueue;
};

void AddTo(State& state, const Given& given) {
  Job& job = state.jobs[{given.id}];
  job.row.id = {given.id};
  job.row.spec.devices = 2;
  job.row.spec.resources.priority = given.priority;
  job.share = given.share;
  job.lane = given.lane;
}

TEST(QueuedJobs, TheFirstAreThoseOfHighPriorityThenOfWhoUsedLessThenTheOldest) {
  const int64_t little = 1, much = 7;
  State state;
  for (const Given& given : {Given{1, 50, &much}, Given{2, 50, &little}, Given{3, 50, &little},
                             Given{4, 60, &much}, Given{5, 99, &little, Lane::kFollowing},
                             Given{6, 40, &much, Lane::kUninspected}, Given{7, 99, &little}})
    AddTo(state, given);
  state.live[{7}] = &state.jobs.at({7});
  const QueuedJobs all = FindQueued(state, 10);
  EXPECT_EQ(all.first, (std::vector<base::JobId>{{4}, {2}, {3}, {1}, {6}, {5}}));
  EXPECT_EQ(all.jobs, 6);
  EXPECT_EQ(all.devices, 12);
  const QueuedJobs some = FindQueued(state, 2);
  EXPECT_EQ(some.first, (std::vector<base::JobId>{{4}, {2}}));
  EXPECT_EQ(some.jobs, 6);
}

}  // namespace
}  // namespace trainctl::core
