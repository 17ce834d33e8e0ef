#include "server/core/bounded_groups.h"

#include <gtest/gtest.h>

#include "server/core/inspect.h"

namespace trainctl::core {
namespace {

TEST(BoundedGroups, WatchersOfAJobThatWaitsAgainAreTold) {
  constexpr base::GroupId kGroup{1};
  State state;
  const Now now{};
  Turn turn{.state = state, .now = now};
  const auto add = [&](int64_t id) -> Job& {
    Job& job = state.jobs[{id}];
    job.row = {.id = {id}, .group = kGroup, .force = true};
    JoinGroup(state, kGroup, 1);
    Enqueue(turn, job);
    return job;
  };
  const Job& later = add(2);
  EXPECT_NE(later.lane, Lane::kBounded);
  EXPECT_NE(add(1).lane, Lane::kBounded);
  EXPECT_EQ(later.lane, Lane::kBounded);
  EXPECT_EQ(turn.changed, std::set<base::JobId>{{2}});
}

TEST(BoundedGroups, WhoCanStartNoMoreLeavesItsPlaceToTheNext) {
  constexpr base::GroupId kGroup{1};
  State state;
  const Now now{};
  Turn turn{.state = state, .now = now};
  const auto add = [&](int64_t id, int64_t devices) -> Job& {
    Job& job = state.jobs[{id}];
    job.row = {.id = {id}, .group = kGroup, .force = true, .user = "ada"};
    job.row.spec.devices = devices;
    JoinGroup(state, kGroup, 1);
    Enqueue(turn, job);
    return job;
  };
  Job& begun = add(1, 2);
  begun.status.attempt = 1;
  LeaveQueue(state, begun);
  const Job& next = add(2, 1);
  EXPECT_EQ(next.lane, Lane::kBounded);

  state.options.policy.everyone.max_running_devices = 1;
  Enqueue(turn, begun);
  EXPECT_NE(next.lane, Lane::kBounded);
  EXPECT_EQ(state.bounded_groups.at(kGroup).under_way, std::set<base::JobId>{{2}});
  EXPECT_TRUE(turn.changed.contains({2}));
}

}  // namespace
}  // namespace trainctl::core
